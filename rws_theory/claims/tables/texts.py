"""What the paper prints as text: the judge's prompt, and the example dialogue."""

from __future__ import annotations

import re
from fractions import Fraction

from rws_theory.claims.claim import Claim
from rws_theory.claims.tables import shown
from rws_theory.printed import printed_in


def judge_prompt() -> Claim:
    """List the slots of the printed template: whether one is for the user's prompt."""
    template = printed_in("table10_llm_judge_orders", exact=True)["template"]["user"]
    slots = re.findall(r"\[([^\]]*)\]", template)
    asked = [slot for slot in slots if re.search("prompt|question|instruction|dialogue", slot, re.IGNORECASE)]
    return Claim(
        "J-judge-prompt",
        "Appendix J and Section 5.3",
        "The judge compares answers to multi-turn prompts by the printed exact template.",
        "true" if asked else "true with correction",
        f'The user message of the template is: "{template}". It has {len(slots)} slots, {len(asked)} of them for'
        " what the user asked.",
        "The judge never sees the question or the first turn: only two answers.",
        "By this template the judge compares how two answers read, not how well they answer.",
    )


def coherent() -> Claim:
    """Count the words that repeat the word before them, in the complete responses as printed."""
    printed = printed_in("dialogues", exact=True)
    rows, quote = printed["rows"], printed["quote"]
    of = {
        method: tuple(sum(row[key] for row in rows if row["method"] == method) for key in ("doubled", "words"))
        for method in ("rws", "default")
    }
    share = {method: Fraction(100 * doubled, words) for method, (doubled, words) in of.items()}
    worse = share["rws"] >= share["default"]
    (doubled, words), (base, base_words) = of["rws"], of["default"]
    return Claim(
        "L-coherent",
        "Section 5.3 and Appendix L",
        "The default generates repetitive answers, RWS consistently coherent ones (of the printed example).",
        "true with correction" if worse else "true",
        f"Words that repeat the word before them, in the complete printed responses: RWS {doubled} of {words}"
        f" ({shown(share['rws'], 1)} %), the default {base} of {base_words} ({shown(share['default'], 1)} %).",
        f'{quote["where"]}: "{quote["text"]}".',
        "In the printed example RWS repeats single words more often than the default; the paper's point is about"
        " repeated sentences.",
    )
