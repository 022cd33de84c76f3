"""`ablate`: its verdict on cases whose answer is known, on any strategy, through stops, and in files."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_lines import printed
from distributed import LocalCluster
from documented_commands import block_lines, page, ran
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

import rws_decode as rws
from rws_decode import Ablation, CallablePredictor, CallableReward, Shape, ablate, decode, load_ablation, load_predictor
from rws_decode.ablation import SENTENCES, VERDICTS, measure_leverage

SHAPE = Shape(2, 2, 2)
A, B = [1.1, 0.6, 0.3], [1.0, 0.4, 0.4]  # of Appendix D: the first is ahead up to scale 4.81, the second above
FIRST, SECOND = "3 5", "6 4"  # what is written where the first, or the second, position is unmasked first


def two_orders(canvas: torch.Tensor) -> torch.Tensor:
    """Return logits of a model whose text follows from the order: [prompt, answer, answer] -> vocabulary of 9."""
    logits = torch.full((*canvas.shape, 9), -50.0)
    for row, (_, one, two) in zip(logits, canvas.tolist(), strict=True):
        row[1, [3, 7, 8]] = torch.tensor(A)
        row[2, [4, 7, 8]] = torch.tensor(B)
        if one == 3:
            row[2, 5] = 9.0
        if two == 4:
            row[1, 6] = 9.0
    return logits


PREDICTOR = CallablePredictor(
    two_orders,
    mask_id=0,
    vocab_size=9,
    encode=lambda text: [1 if "right" in text else 2],
    decode=lambda ids: " ".join(map(str, ids)),
)
PROMPTS = [f"{side} {number}" for number in range(150) for side in ("right", "left")]


def matters(prompt: str, answer: str) -> float:
    """Reward drafts of prompts that the second order suits, and a final text whose order suits its prompt."""
    right = "right" in prompt
    return int(prompt.split()[1]) % 3 / 10 + (1.0 if right == (answer != FIRST) else -1.0)  # prompts differ


def suits(wanted: str, drafts: float) -> Callable[[str, str], float]:
    """Return a reward that likes one text; drafts: of any text that is neither, the same for all prompts."""

    def score(prompt: str, answer: str) -> float:
        offset = int(prompt.split()[1]) % 3 / 10  # prompts differ
        return offset + (1.0 if answer == wanted else -1.0 if answer in (FIRST, SECOND) else drafts)

    return score


CASES = {
    "the reward matters": matters,
    "only the temperature": suits(SECOND, 1.0),
    "no effect": suits(FIRST, -1.0),
    "worse than without": suits(FIRST, 1.0),
}
REWARD = CallableReward(matters, mean=0.0, std=0.2)


@pytest.mark.parametrize("verdict", CASES)
def test_the_verdict_is_the_known_one(verdict: str) -> None:
    reward = CallableReward(CASES[verdict], mean=0.0, std=0.2, name="known")
    blind = CallableReward(lambda prompt, answer: float(int(prompt.split()[1]) % 7), name="blind")
    judge = blind if verdict == "only the temperature" else None
    result = ablate(PREDICTOR, PROMPTS, "rws:10", SHAPE, reward=reward, judge=judge, batch=64, validation=12)
    assert result.verdict == verdict, result
    assert result.stopped_after < result.prompts
    sides = {each.twin: each.verdict for each in result.comparisons}
    if judge is not None:  # it does not see the gain, and says so
        assert sides["fixed factor"] == "equivalent" and result.line() in str(result)
        assert result.judge_verdict == "no effect"
    assert set(result.explain().splitlines()[0].split(":")[0].split()) == {"confidence"}


@pytest.mark.long
@pytest.mark.parametrize("verdict", CASES)
def test_no_sample_of_prompts_gives_a_wrong_verdict(verdict: str) -> None:
    """Of 300 prompts, three of four are to the right."""
    reward, found = CallableReward(CASES[verdict], mean=0.0, std=0.2, name="known"), set[str]()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sides = rng.choice(["right", "left"], 300, p=[0.75, 0.25])
        prompts = [f"{side} {number}" for side, number in zip(sides, rng.integers(1000, size=300), strict=True)]
        given = {"reward": reward, "batch": 96, "validation": 16, "seed": seed}
        found.add(ablate(PREDICTOR, prompts, "rws:10", SHAPE, **given).verdict)
    assert found <= {verdict, "undecided"} and verdict in found


@dataclass(frozen=True)
class Own:
    """A strategy of a user's own, with a helper method and a field that mean nothing to the decoder."""

    strength: float = 10.0
    name = "own"
    needs_reward = True

    def factor(self, view: Any) -> Any:
        return self.power(view.reward)

    def power(self, reward: Any) -> Any:
        return self.strength / np.sqrt(1 + np.exp(-reward))


def test_a_strategy_of_ones_own_is_told_as_rws_is() -> None:
    call = partial(ablate, PREDICTOR, PROMPTS, shape=SHAPE, reward=REWARD, batch=32, validation=12)
    mine, usual = call(Own()), call("rws:10")
    assert mine.verdict == usual.verdict == "the reward matters"
    assert [each.difference for each in mine.comparisons] == [each.difference for each in usual.comparisons]


@dataclass(frozen=True)
class OwnCount(Own):
    """A strategy that unmasks both positions at once where the reward is high."""

    abilities = rws.Abilities(counts=True)

    def count(self, view: Any) -> Any:
        return torch.as_tensor(np.where(view.reward > 0, 2, 1))


@dataclass(frozen=True)
class OwnOrder:
    """A strategy without a factor that unmasks the right position first where the reward is high."""

    name = "own-order"
    needs_reward = True

    def order(self, view: Any) -> Any:
        return view.position * torch.as_tensor(np.sign(view.reward))[view.row]


@pytest.mark.parametrize("strategy", [OwnCount(), OwnOrder()])
def test_twins_of_a_strategy_whose_count_or_order_reads_the_reward_give_it_other_rewards(strategy: Any) -> None:
    result = ablate(PREDICTOR, PROMPTS, strategy, SHAPE, reward=REWARD, batch=32, validation=12)
    assert result.verdict == "the reward matters"


def test_twins_of_a_strategy_that_counts_keep_its_rule() -> None:
    english, shape = load_predictor("english"), Shape(8, block=8)
    reward = rws.load_reward("era")
    result = ablate(english, english.prompts[:24], "threshold:0.3+rws:8", shape, reward=reward, until=8, validation=3)
    rows = {(row["arm"], row["prompt"]): row for row in result.rows}
    for (arm, prompt), row in rows.items():
        factor = np.mean(rows["strategy", prompt]["factors"]) if arm == "fixed factor" else 1.0
        if arm in ("confidence", "fixed factor"):
            rule = rws.Threshold(0.3, scaled=rws.Temperature(float(factor)))
            (alone,) = decode(english, english.prompts[prompt], rule, shape)
            assert row["tokens"] == alone.tokens.tolist() and row["forwards"] == alone.forwards


def test_a_steering_method_has_its_scores_shuffled_among_its_copies() -> None:
    english, shape = load_predictor("english"), Shape(4, 4, 4)
    result = ablate(
        english, english.prompts[:60], "best-of:8", shape, reward=lambda answer: len(answer), until=26, validation=6
    )
    assert [each.twin for each in result.comparisons] == ["confidence", "shuffled rewards"]
    assert result.comparisons[1].difference > 0.5  # the greatest of eight against any of eight
    assert result.leverage is None


def counted(calls: list[str], fail_at: int | None = None) -> Callable[[str, str], float]:
    """Return a reward that notes each text, and fails at one of them."""

    def score(prompt: str, answer: str) -> float:
        calls.append(answer)
        if len(calls) == fail_at:
            raise RuntimeError("out of memory")
        return CASES["only the temperature"](prompt, answer)

    return score


def test_a_run_that_was_stopped_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    def asked(reward: Callable[..., float], directory: Path | None = None) -> Ablation:
        model = CallableReward(reward, mean=0.0, std=0.2, name="counted")
        limits: dict[str, Any] = {"until": 32, "validation": 8, "directory": directory}
        return ablate(PREDICTOR, PROMPTS[:100], "rws:10", SHAPE, reward=model, **limits)

    whole: list[str] = []
    straight = asked(counted(whole))
    with pytest.raises(ValueError, match=r"out of memory.*kept in") as stopped:
        asked(counted([], fail_at=len(whole) // 2), tmp_path)
    assert "\n" not in str(stopped.value)
    with (tmp_path / "decoded.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"prompt": 3, "arm": "str')  # a line that a kill cut off
    rest: list[str] = []
    resumed = asked(counted(rest), tmp_path)
    assert len(rest) < 0.7 * len(whole)
    assert resumed.as_json() == straight.as_json()
    with pytest.raises(ValueError, match="another ablation"):
        ablate(PREDICTOR, PROMPTS[:100], "rws:9", SHAPE, reward=CASES["no effect"], directory=tmp_path)
    model = CallableReward(counted([]), mean=0.0, std=0.2, name="counted")
    other = CallableReward(counted([]), mean=0.0, std=0.4, name="counted")
    for given in ({"reward": model, "validation": 9}, {"reward": other}):  # their twins have other factors
        with pytest.raises(ValueError, match="another ablation"):
            ablate(PREDICTOR, PROMPTS[:100], "rws:10", SHAPE, directory=tmp_path, **given)


def test_no_difference_follows_from_the_batch_and_a_folder_is_of_what_was_saved_last(tmp_path: Path) -> None:
    asked = {"reward": REWARD, "until": 24, "validation": 8}
    one, other = (ablate(PREDICTOR, PROMPTS[:100], "rws:10", SHAPE, batch=batch, **asked) for batch in (4, 24))
    assert one.comparisons == other.comparisons
    later = ablate(PREDICTOR, PROMPTS[:60], "rws:9", SHAPE, reward=REWARD, until=16)
    one.save(tmp_path)
    later.save(tmp_path)
    assert load_ablation(tmp_path).to_frame().equals(later.to_frame())


def test_a_network_of_transformers_is_asked_in_one_call() -> None:
    folder = Path(rws.__file__).parent / "mini" / "models" / "mini"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=1.0, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = rws.HFMaskPredictor(BertForMaskedLM(config).eval(), tokenizer)
    words = ("lenses", "crater", "wharf", "tariff", "meteor")
    prompts = [f"write a story with {word} ." for word in words for _ in "1234567"]
    result = ablate(network, prompts, "rws:8", Shape(4, 4, 4), reward=lambda answer: answer.count("e"), until=8)
    assert result.stopped_after == 8 and len(result.comparisons) == 9 and result.leverage is not None


def test_workers_find_the_same() -> None:
    call = partial(ablate, PREDICTOR, PROMPTS[:100], "rws:10", SHAPE, reward=REWARD, until=24, validation=8)
    with ThreadPoolExecutor(2) as threads:
        assert call(executor=threads, load=lambda: (PREDICTOR, REWARD, None)).as_json() == call().as_json()
        with pytest.raises(ValueError, match="executor and load"):
            call(executor=threads)


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    result = ablate(PREDICTOR, PROMPTS[:100], "rws:10", SHAPE, reward=REWARD, until=24, validation=8)
    result.save(tmp_path)
    again = load_ablation(tmp_path)
    assert again.as_json() == result.as_json() and str(again) == str(result)
    assert again.to_frame().equals(result.to_frame())
    assert len((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(result.comparisons)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<iframe") == 3 and not re.search(r"(src|href)=.?.?http", page)
    assert result.plot().axes[0].get_xlabel() == "difference of the reward [SD]"


def test_groups_are_the_units() -> None:
    groups = [prompt.split()[1] for prompt in PROMPTS]  # a right one and a left one each
    result = ablate(PREDICTOR, PROMPTS, "rws:10", SHAPE, reward=REWARD, groups=groups, until=20)
    assert (result.comparisons[0].n, result.stopped_after) == (20, 40)
    assert result.comparisons[0].difference == pytest.approx(1.0, abs=0.3)  # half of the prompts gain two SD


def test_a_directory_of_another_reward_is_refused_and_a_refused_call_leaves_none(tmp_path: Path) -> None:
    call = partial(ablate, PREDICTOR, strategy="rws:10", shape=SHAPE, until=16, directory=tmp_path)
    with pytest.raises(ValueError, match="prompts are 12"):
        call(PROMPTS[:12], reward=matters)  # and leaves no directory
    call(PROMPTS[:60], reward=CASES["no effect"])

    def score(prompt: str, answer: str) -> float:
        return -CASES["no effect"](prompt, answer)

    with pytest.raises(ValueError, match="otherwise"):
        call(PROMPTS[:60], reward=score)  # both are called "score"
    (tmp_path / "decoded.jsonl").write_text("[]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="another ablation"):
        call(PROMPTS[:60], reward=score)


@pytest.mark.parametrize("steps", [3, 7, 11])
def test_a_factor_that_stays_is_no_leverage(steps: int) -> None:
    english, reward = load_predictor("english"), CallableReward(lambda answer: 3.0, mean=0.0, std=1.0)
    runs = decode(english, english.prompts[:1], "rws:5", Shape(steps, steps, steps), reward=reward)
    assert measure_leverage(english, runs) == {"attainable": 0.0, "observed": 0.0}


def test_a_strategy_that_counts_has_no_leverage_and_a_method_no_factor() -> None:
    call = partial(ablate, PREDICTOR, PROMPTS[:60], shape=SHAPE, reward=REWARD, until=16)
    assert call("threshold:0.7+rws:10").leverage is None
    assert call("best-of:2").factor_variation is None


def test_a_reward_of_noise_is_told_and_a_budget_ends_it() -> None:
    rng = np.random.default_rng(0)
    reward = CallableReward(lambda prompt, answer: float(rng.standard_normal()), name="noise")
    result = ablate(PREDICTOR, PROMPTS[:60], "rws:10", SHAPE, reward=reward, until=16)
    assert any("two calls on one text differ" in note for note in result.notes)
    short = ablate(PREDICTOR, PROMPTS, "rws:10", SHAPE, reward=CASES["no effect"], budget=16)
    assert (short.stopped_after, short.verdict) == (16, "undecided")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"strategy": "temperature:4"}, "strategy"),
        ({"strategy": "gradient-guidance:3"}, "no reward-blind twin"),
        ({"reward": lambda answer: 1.0}, "reward"),
        ({"reward": None}, "reward"),
        ({"margin": 0.0}, "margin"),
        ({"level": 95}, "level"),
        ({"bound": -1.0}, "bound"),
        ({"budget": float("nan")}, "budget"),
        ({"groups": ["a"]}, "groups"),
        ({"until": 0}, "until"),
        ({"budget_of": "euros"}, "budget_of"),
    ],
)
def test_misuse_is_one_line_that_names_the_argument(given: dict[str, Any], named: str) -> None:
    call: dict[str, Any] = {"prompts": PROMPTS[:100], "strategy": "rws:10", "reward": REWARD} | given
    with pytest.raises(ValueError) as refused:
        ablate(PREDICTOR, call.pop("prompts"), call.pop("strategy"), SHAPE, **call)
    assert named in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.long
def test_the_guide_shows_a_call_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    result = ran("docs/guides/ablate.md")["result"]
    assert result.verdict == "undecided" and capsys.readouterr().out.strip() == str(result)
    guide = page("docs/guides/ablate.md")
    assert all(f"| {name} |" in guide for name in VERDICTS)
    assert all(f"| {'best of N' if name == 'best of' else name} |" in guide for name in SENTENCES)


def test_the_command_writes_what_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "def vowels(answer):\n    return sum(letter in 'aeiou' for letter in answer)\n"
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (command,) = [line for line in block_lines(page("docs/guides/ablate.md")) if "mine:vowels" in line]
    words = command.removeprefix("rws ").replace("out/vowels", "out").split()
    result = json.loads(printed(capsys, *words, "--until", 16, "--validation", 4, "--json"))
    assert result["stopped_after"] == 16 and result["comparisons"][0]["twin"] == "confidence"
    assert json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8")) == result


@pytest.mark.long
def test_processes_and_a_cluster_find_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ablate", "--strategy", "rws:8", "--length", 4, "--steps", 4, "--block", 4]
    words += ["--prompts", 40, "--validation", 8, "--until", 16, "--json"]
    alone = printed(capsys, *words)
    assert printed(capsys, *words, "--workers", 2) == alone
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path) as cluster:
        assert printed(capsys, *words, "--scheduler", cluster.scheduler_address) == alone
