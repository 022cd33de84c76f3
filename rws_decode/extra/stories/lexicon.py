"""The words of the story language: ten topics, disjoint word classes, every word in exactly one class.

Disjointness is what makes the grammar unambiguous, and so the probability of a text a plain product
(`rws_decode.extra.stories.grammar`). The tests check it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Topic:
    """One topic's words: objects pluralise with -s, a cause has one effect, a task one past form."""

    name: str
    objects: tuple[str, ...]
    places: tuple[str, ...]
    jobs: tuple[str, ...]
    causes: dict[str, str]
    tasks: dict[str, str]
    adjectives: tuple[str, ...]

    @cached_property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """Return the topic's words by class, in a fixed order."""
        named: dict[str, Iterable[str]] = {"object": self.objects, "objects": map(plural, self.objects)}
        named |= {"place": self.places, "job": self.jobs, "cause": self.causes, "effect": self.causes.values()}
        named |= {"task": self.tasks, "past": self.tasks.values(), "adjective": self.adjectives}
        return {name: tuple(group) for name, group in named.items()}


def _pairs(text: str) -> dict[str, str]:
    return dict(item.split(":") for item in text.split())


def _topic(name: str, *classes: str) -> Topic:
    parts: list[Any] = [_pairs(text) if ":" in text else tuple(text.split()) for text in classes]
    return Topic(name, *parts)


_ALL = (
    _topic(
        "science",
        "telescope beaker crystal magnet fossil lens notebook specimen microscope thermometer compass meteorite "
        "pendulum prism sensor battery-cell molecule-model skeleton eggshell feather mineral sample flask pipette "
        "barometer satellite antenna spectrum-chart centrifuge petri-dish laser electron-tube seashell hourglass",
        "observatory laboratory planetarium quarry glacier crater greenhouse fieldstation herbarium archive "
        "basecamp bunker icefield lookout",
        "astronomer chemist geologist biologist physicist botanist zoologist researcher technician mathematician",
        "eclipse:darkened earthquake:cracked meteor:scorched experiment:evacuated explosion:ruined leak:contaminated "
        "aurora:illuminated heatwave:sweltering",
        "calibrate:calibrated measure:measured analyse:analysed classify:classified weigh:weighed dissolve:dissolved",
        "fragile magnetic ancient transparent radioactive microscopic crystalline luminous rusted labelled",
    ),
    _topic(
        "technology",
        "laptop router keyboard robot drone printer charger scanner headset modem circuit processor tablet camera "
        "speaker joystick server-rack microchip projector smartphone console transistor gadget cable hologram "
        "touchscreen flashdrive webcam amplifier turbine soldering-iron gearbox actuator radio",
        "workshop datacentre hangar showroom warehouse garage basement assembly-hall cleanroom testbed makerspace "
        "depot foundry cubicle",
        "engineer programmer inventor hacker electrician welder machinist tester developer operator",
        "blackout:powerless virus:infected glitch:offline overload:overheated cyberattack:compromised "
        "shortcircuit:smouldering update:rebooted recall:shuttered",
        "repair:repaired install:installed upgrade:upgraded program:programmed configure:configured connect:connected",
        "wireless portable digital automatic outdated encrypted solar-powered compact programmable prototype",
    ),
    _topic(
        "economy",
        "ledger coin banknote invoice strongbox contract voucher coupon share-certificate "
        "briefcase cashbox stamp receipt "
        "bond crate barrel parcel scale-pan abacus calculator gold-bar token wallet purse pallet container order-form "
        "price-list pricetag loanbook cheque budget-report moneybag rentroll",
        "market bank harbour exchange auction-house mint counting-house bazaar customs-house mall shopfront "
        "treasury pawnshop wharf",
        "merchant banker accountant broker trader cashier auctioneer shopkeeper clerk economist",
        "inflation:expensive strike:deserted shortage:empty-shelved boom:crowded bankruptcy:bankrupt tariff:blockaded "
        "fraud:raided crash:panicked",
        "deliver:delivered count:counted audit:audited insure:insured appraise:appraised invest:invested",
        "valuable counterfeit taxable profitable imported overdue affordable priceless wholesale second-hand",
    ),
    _topic(
        "health",
        "bandage syringe pill thermostat-pad stethoscope crutch wheelchair tonic ointment vaccine splint inhaler "
        "stretcher scalpel pillow blanket vitamin lozenge plaster x-ray-plate gown mask-box hearing-aid walking-frame "
        "hot-bottle teabag remedy capsule spoon thermos towel ampoule dropper massage-oil",
        "hospital clinic pharmacy ward surgery sanatorium infirmary ambulance-bay waiting-room gymnasium spa "
        "nursery hospice bathhouse",
        "doctor nurse surgeon pharmacist dentist midwife therapist paramedic caretaker dietitian",
        "fever:quarantined epidemic:overrun flu:understaffed allergy:sneezing infection:sealed accident:bloodied "
        "heatstroke:airless poisoning:emptied",
        "sterilise:sterilised warm:warmed prescribe:prescribed bottle:bottled disinfect:disinfected label:labeled",
        "herbal sterile soothing bitter medicinal disposable antiseptic lukewarm padded clinical",
    ),
    _topic(
        "sports",
        "racket ball trophy medal helmet jersey whistle glove paddle javelin saddle surfboard skateboard bicycle "
        "stopwatch hurdle baton dumbbell puck snorkel kayak sledge arrow target kneepad goalpost scoreboard "
        "skipping-rope dartboard trampoline oar banner boot headband",
        "stadium arena racetrack velodrome swimming-pool ski-slope locker-room court pitch boathouse clubhouse "
        "training-camp rink gym",
        "athlete coach referee goalkeeper sprinter boxer rower gymnast cyclist swimmer",
        "injury:hushed downpour:waterlogged rivalry:divided victory:jubilant protest:barricaded blizzard:snowbound "
        "foul:outraged penalty:tense",
        "polish:polished inflate:inflated pump:pumped balance:balanced tighten:tightened defend:defended",
        "bouncy waterproof lightweight lucky autographed striped muddy golden cushioned aerodynamic",
    ),
    _topic(
        "environment",
        "seed acorn log pebble nest beehive birdhouse raincoat shovel rake sapling mushroom pinecone rainbarrel "
        "compost-bin windmill solar-panel river-stone fishing-net lantern canoe tent trail-map wildflower bramble "
        "berry-basket leaf-press trap birdcall waterwheel driftwood-log root honeycomb herb-bundle",
        "forest river meadow swamp reef valley island waterfall desert beach marsh canyon orchard hilltop",
        "ranger gardener farmer beekeeper fisher forester ecologist shepherd diver hiker",
        "storm:flooded drought:parched wildfire:burnt landslide:buried frost:frozen pollution:poisoned "
        "hurricane:flattened fog:invisible",
        "plant:planted recycle:recycled water:watered gather:gathered protect:protected prune:pruned",
        "mossy wild organic endangered hollow biodegradable damp thorny evergreen weathered",
    ),
    _topic(
        "politics",
        "ballot petition flag speech-draft podium badge pamphlet megaphone treaty seal gavel passport poster "
        "manifesto envelope dossier signature microphone-stand census-form rosette sash armband decree portrait "
        "memo telegram key-ring lectern folder motion-paper campaign-button statue placard charter",
        "parliament embassy town-hall senate palace border-post courthouse ministry council-chamber press-room "
        "polling-station consulate citadel chancellery",
        "senator mayor diplomat ambassador councillor governor secretary minister lobbyist delegate",
        "election:jammed scandal:besieged coup:occupied referendum:festooned debate:packed riot:vandalised "
        "veto:deadlocked resignation:leaderless",
        "sign:signed translate:translated publish:published ratify:ratified amend:amended file:filed",
        "confidential official secret diplomatic forged unanimous embossed controversial partisan bilingual",
    ),
    _topic(
        "education",
        "textbook pencil ruler satchel globe chalkboard eraser diploma dictionary crayon atlas desk lunchbox "
        "backpack quill inkwell essay exam-paper marker protractor flashcard library-card bookmark "
        "notepad lecture-slide "
        "stapler report-card encyclopedia workbook blackboard-sponge puzzle badge-ribbon alphabet-block flute-case",
        "classroom library schoolyard kindergarten university lecture-hall dormitory playground canteen academy "
        "staffroom study cloakroom auditorium",
        "teacher pupil professor librarian tutor janitor headmaster lecturer student scholar",
        "exam:silent holiday:vacant prank:chaotic inspection:spotless graduation:festive assembly:noisy "
        "outage:dark detention:locked",
        "mark:marked memorise:memorised explain:explained wrap:wrapped rewrite:rewrote copy:copied",
        "illustrated borrowed dog-eared laminated colourful handwritten difficult annotated heavy educational",
    ),
    _topic(
        "culture",
        "painting vase mask tapestry sculpture violin drum kimono scroll lute fresco-panel mosaic carving amulet "
        "teapot fan goblet manuscript puppet-doll candlestick figurine basket rug necklace relic icon chalice "
        "harp tile woodcut inkstone totem bell kite",
        "museum gallery temple cathedral monastery shrine castle village teahouse pavilion "
        "courtyard ruin amphitheatre crypt",
        "painter sculptor weaver potter curator monk calligrapher historian violinist storyteller",
        "festival:lively pilgrimage:thronged theft:guarded wedding:flowery ceremony:candlelit renovation:scaffolded "
        "mourning:sombre procession:incense-filled",
        "restore:restored frame:framed embroider:embroidered catalogue:catalogued dust:dusted varnish:varnished",
        "ceramic sacred ornate gilded silken traditional antique ivory lacquered ceremonial",
    ),
    _topic(
        "entertainment",
        "script costume spotlight guitar ticket film-reel puppet wig microphone trumpet curtain "
        "prop-dagger juggling-pin "
        "piano camera-crane record album headliner-sign top-hat playing-card magic-wand balloon "
        "mirror-globe clapperboard "
        "popcorn-bag comic tambourine accordion cassette autograph game-board unicycle firework tiara",
        "theatre cinema circus studio backstage nightclub concert-hall opera-house fairground ballroom arcade "
        "dressing-room bandstand carousel",
        "actor singer magician clown director dancer comedian drummer acrobat juggler",
        "premiere:glamorous encore:deafening rehearsal:cluttered stampede:trampled cancellation:abandoned "
        "parade:confetti-strewn stagefright:speechless power-cut:pitch-black",
        "choreograph:choreographed tune:tuned decorate:decorated edit:edited stage:staged film:filmed",
        "glittering vintage velvet famous noiseless oversized neon dramatic hilarious sequined",
    ),
)

TOPICS: dict[str, Topic] = {topic.name: topic for topic in _ALL}

_SHE = (
    "mara lena tessa ivy clara nadia rosa hanna greta elsa freya ada vera nora alma thea zara leila priya mina "
    "sofia carmen paula ingrid bianca odile yuki amara selma wanda irene judith naomi petra ruth stella ursula viola"
)
_HE = (
    "ivo tomas felix oscar hugo anton milo jonas emil viktor pavel omar rashid kenji diego marco luca nils arne "
    "boris casper dario edgar fabian george henrik igor jakob karl leon mateo nathan otto "
    "pietro quentin rafael stefan tariq"
)
NAMES: dict[str, str] = {**{name: "she" for name in _SHE.split()}, **{name: "he" for name in _HE.split()}}

RELATIONS: tuple[str, ...] = tuple(
    "friend cousin neighbour rival colleague mentor partner assistant teammate apprentice guest classmate".split()
)
NUMBERS: tuple[str, ...] = tuple("one two three four five six seven eight nine ten".split())
DEADLINES: tuple[str, ...] = tuple(
    "dawn noon dusk midnight sunset breakfast lunch dinner winter spring summer autumn".split()
)
DAYS: tuple[str, ...] = tuple("monday tuesday wednesday thursday friday saturday sunday".split())

# An ending depends on the first sentence: the trait named there decides a word of the last.
TRAITS: dict[str, str] = _pairs(
    "greedy:alone kind:loved lazy:late brave:honoured careless:sorry patient:rewarded proud:humbled curious:wiser "
    "honest:trusted jealous:bitter-hearted clever:promoted shy:confident stubborn:exhausted generous:thanked "
    "cowardly:forgotten loyal:remembered reckless:injured cheerful:content dishonest:caught diligent:wealthy "
    "hasty:lost gentle:adored vain:mocked thoughtful:admired"
)
FEELINGS: tuple[str, ...] = tuple("happy sad angry calm worried proud-hearted surprised tired grateful nervous".split())


def plural(noun: str) -> str:
    """Return the plural of an object word (all of them are regular).

    >>> plural("lens"), plural("telescope"), plural("petri-dish")
    ('lenses', 'telescopes', 'petri-dishes')
    """
    if noun.endswith(("s", "sh", "ch", "x")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


SINGULAR: dict[str, str] = {plural(noun): noun for topic in TOPICS.values() for noun in topic.objects}


def words() -> dict[str, list[str]]:
    """Return every open-class word by class, in a fixed order."""
    out: dict[str, list[str]] = {
        "topic": list(TOPICS),
        "name": list(NAMES),
        "relation": list(RELATIONS),
        "number": list(NUMBERS),
        "deadline": list(DEADLINES),
        "day": list(DAYS),
        "trait": list(TRAITS),
        "outcome": list(TRAITS.values()),
        "feeling": list(FEELINGS),
    }
    for topic in TOPICS.values():
        for name, group in topic.classes.items():
            out.setdefault(name, []).extend(group)
    return out
