"""Words that tend to go along with a topic of a life, to find what a change may touch.

They only widen a search. English alone: in other languages the search has the words of the
change, and of what it replaced.
"""

from construct.language.wordlists import word_set
from construct.stems import stem

_TOPICS = (
    # Home
    (
        """
            live lives lived living move moved moves moving flat apartment house home
            address rent
        """,
        """
            live home flat house apartment rent landlord neighbour neighbor street
            corner nearby local commute tram bus bike walk key garden balcony gym
            doctor pharmacy market school nursery parking internet electricity
            registered
        """,
    ),
    # Work
    (
        """
            work works worked working job jobs hired fired quit employer employed
            retired company boss freelance laid
        """,
        """
            work job office boss manager colleague team salary pay hours shift commute
            train lunch desk laptop pension insurance holiday project client training
        """,
    ),
    # Partner and family
    (
        """
            separated separate divorced divorce broke split married engaged single
            partner husband wife girlfriend boyfriend widowed died
        """,
        """
            partner husband wife girlfriend boyfriend together couple flat wedding
            anniversary holiday parents family dog cat car account weekend dinner
            children
        """,
    ),
    # Health
    (
        """
            diagnosed diagnosis diabetes pregnant allergic allergy intolerant
            intolerance coeliac celiac injured injury broken surgery operation illness
            disease asthma epilepsy vegan vegetarian
        """,
        """
            eats eat drinks drink breakfast food bread cook restaurant run runs
            running sport training marathon gym swim climb drive drives medicine pills
            coffee wine beer smoke weight race
        """,
    ),
    # Vehicles and other things
    (
        """
            car cars bike bicycle motorbike scooter van sold bought drives phone
            laptop
        """,
        """
            car bike drive drives parking garage petrol diesel fuel charging insurance
            tyres tires repair mechanic inspection seat trailer trip commute roof
        """,
    ),
    # Studies
    (
        """
            study studies studying university degree school course graduated dropped
            exam semester
        """,
        """
            study university course lecture exam thesis professor campus library
            dormitory scholarship loan semester class student
        """,
    ),
    # Animals
    (
        """
            dog cat puppy pet rabbit horse
        """,
        """
            dog cat walk walks vet food sitter kennel park fur sofa allergy
        """,
    ),
)
_BY_TRIGGER = tuple(
    (frozenset(map(stem, word_set(triggers))), " ".join(companions.split()))
    for triggers, companions in _TOPICS
)


def topic_words(words: frozenset[str]) -> list[str]:
    """Return, for each topic that one of these words belongs to, the words that go along."""
    stems = frozenset(map(stem, words))
    return [companions for triggers, companions in _BY_TRIGGER if triggers & stems]
