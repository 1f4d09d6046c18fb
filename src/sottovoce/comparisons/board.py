"""All tasks of a campaign, or all objects of a table, with a posterior each and one estimated prior for the spread."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sottovoce.comparisons.posterior import ComparedTask, Floats, Posterior, Scale
from sottovoce.comparisons.spreads import GUESSED, SpreadPrior


class Board:
    """Answers to comparisons of many tasks.

    Answers may come in any order, late and in batches: the posteriors depend only on the answers themselves.
    """

    def __init__(self, scales: Mapping[str, Scale]) -> None:
        self.tasks = {name: ComparedTask(scale) for name, scale in scales.items()}
        self._evidence: dict[str, Floats] = {}  # of tasks whose answers have not changed since it was computed
        self._prior: SpreadPrior | None = GUESSED

    def add(self, task: str, cuts: Sequence[float], level: int, count: int = 1) -> None:
        """Add ``count`` equal answers about a task; a negative count withdraws them."""
        self.tasks[task].add(cuts, level, count)
        self._evidence.pop(task, None)
        self._prior = None

    def replace(self, task: str, counts: Mapping[tuple[tuple[float, ...], int], int]) -> None:
        """Replace the answers about a task, given by cuts and level; only differences are added or withdrawn."""
        before = dict(self.tasks[task].counts)
        for key in before.keys() | counts.keys():
            difference = counts.get(key, 0) - before.get(key, 0)
            if difference:
                self.add(task, *key, difference)

    @property
    def prior(self) -> SpreadPrior:
        """What all answers together say about the spread of readings."""
        if self._prior is None:
            answered = [name for name, task in self.tasks.items() if task.answers]
            for name in answered:
                if name not in self._evidence:
                    self._evidence[name] = self.tasks[name].evidence
            self._prior = SpreadPrior.estimated(self._evidence[name] for name in answered)
        return self._prior

    def posterior(self, task: str) -> Posterior:
        return self.tasks[task].posterior(self.prior)

    def posteriors(self, tasks: Iterable[str] | None = None) -> Iterator[tuple[str, Posterior]]:
        """The posteriors of these tasks, by default of all."""
        for name in self.tasks if tasks is None else tasks:
            yield name, self.posterior(name)

    def forget(self, tasks: Iterable[str]) -> None:
        """Free the memory that these tasks' posteriors use; they are computed again when needed."""
        for name in tasks:
            self.tasks[name].forget()
