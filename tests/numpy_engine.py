"""An engine in plain NumPy on a users × objects matrix, with which every other engine is compared.

Written from the definitions in `sottovoce.engines.base`, one line after the other, without regard for speed.
"""

import numpy as np

from reference import weighted_median
from sottovoce.engines import Polled, Sweep


class NumpyEngine:
    def __init__(self, claims, ages=None):
        self.kind, self.answers = claims.kind, claims.answers
        if claims.kind == "choice":
            self.chosen = chosen(claims)
        self.matrix = np.full((claims.n_users, claims.n_objects), np.nan)
        self.matrix[claims.users, claims.objects] = claims.values
        self.present = ~np.isnan(self.matrix)
        self.n_claims, self.n_users, self.n_objects = int(self.present.sum()), claims.n_users, claims.n_objects
        self.user_labels, self.object_labels = claims.user_labels, claims.object_labels
        self.claims_per_user, self.claims_per_object = self.present.sum(axis=1), self.present.sum(axis=0)
        self.object_ages = np.zeros(self.n_objects, int) if ages is None else ages

    def means(self):
        return np.nanmean(self.matrix, axis=0)

    def medians(self):
        return np.nanmedian(self.matrix, axis=0)

    def spreads(self):
        return np.nanstd(self.matrix, axis=0)

    def deviations(self):
        return np.nanmedian(np.abs(self.matrix - self.medians()), axis=0)

    def comparable(self):
        return self.present[:, self.claims_per_object > 1].sum(axis=1)

    def score(self, step, truths):
        residuals = (self.matrix - truths) * step.unit
        return np.nansum(np.abs(residuals) if step.average == "median" else residuals**2, axis=1)

    def sweep(self, step, users, truths):
        if step.lookup is not None:
            return self._looked_up(step, users, truths)
        return self._plain(step, users, truths) if step.tail is None else self._tailed(step, users, truths)

    def _plain(self, step, weights, truths):
        if step.average == "median":
            moved = weighted_median(self.matrix, weights)
        else:
            scaled = (self.matrix - step.center) * step.unit
            total = step.prior_weight * step.prior_mean + np.nansum(weights[:, None] * scaled, axis=0)
            moved = step.center + total / (step.prior_weight + self.object_sums(weights)) / step.unit
        precision = (self.object_sums(weights) + step.prior_weight) * step.unit**2
        return Sweep(moved, self.score(step, moved), float(np.max(np.abs(moved - truths) / step.spread)), precision)

    def precision(self, truths, weights):
        weights = weights / weights.max()
        total = self.object_sums(weights)
        squares = np.nansum((weights[:, None] * (self.matrix - truths)) ** 2, axis=0)
        return total**2 / self.object_sums(weights**2), squares / total**2

    def ranges(self):
        return np.nanmin(self.matrix, axis=0), np.nanmax(self.matrix, axis=0)

    def weighted_squares(self, truths, factor):
        return np.nansum(factor[:, None] * (self.matrix - truths) ** 2, axis=0)

    def object_sums(self, factor):
        return (factor[:, None] * self.present).sum(axis=0)

    def effective_users(self, weights):
        with np.errstate(invalid="ignore"):
            return self.object_sums(weights) ** 2 / self.object_sums(weights**2)

    def user_sums(self, factor):
        return (factor * self.present).sum(axis=1)

    def weighted_means(self, weights):
        return np.nansum(weights[:, None] * self.matrix, axis=0) / self.object_sums(weights)

    def sample(self, truths, most):
        objects, users = np.nonzero(self.present.T)
        places = slice(None, None, max(1, self.n_claims // most))
        return objects[places], users[places], (self.matrix - truths)[users[places], objects[places]]

    def _tailed(self, step, weights, truths):
        """Student's t about the old truth; far readings lose their weight, and reveal less about their user."""
        far = weights[:, None] * ((self.matrix - truths) * step.unit) ** 2
        kept = np.where(far > 16, np.maximum((64 - far) / (64 - 16), 1e-9) ** 2, 1.0)
        kept *= (1 + step.tail) / (1 + step.tail * far)
        with np.errstate(divide="ignore", invalid="ignore"):
            slip = (4 + (1600 - 4) * np.maximum((40_000 - far) / (40_000 - 1600), 0)) / far
        counted = np.where(far > 1600, slip, 1.0)
        if not step.rejects:
            counted = (1 + step.tail) / (1 + step.tail * far)
            constant = (1 + step.tail) / np.sqrt(np.maximum(4 * step.tail * far, 1e-300))  # the greatest pull, kept
            kept = np.where(step.tail * far <= 1, counted, constant)
        each = np.where(self.present, weights[:, None] * kept, 0.0)
        moved = np.where(step.known, truths, np.nansum(each * self.matrix, axis=0) / each.sum(axis=0))
        uncertain = np.where(step.known, 0.0, 1 / each.sum(axis=0))
        losses, doubts = counted * ((self.matrix - moved) * step.unit) ** 2, counted * uncertain
        misfit = np.nansum(weights[:, None] * (losses + doubts), axis=0) / self.claims_per_object
        doubts = np.nansum(np.where(self.present, doubts, np.nan), axis=1)
        move = float(np.max(np.abs(moved - truths) / step.spread))
        return Sweep(
            moved, np.nansum(losses, axis=1), move, each.sum(axis=0) * step.unit**2, misfit=misfit, doubts=doubts
        )

    def _looked_up(self, step, users, truths):
        """Pulls and shares by bilinear interpolation; beyond the table they fall with the square of the size."""
        places, information = users
        cells = places.astype(int)
        sizes = np.where(self.present, np.abs(self.matrix - truths), 0.0) / step.lookup.step
        sizes = np.maximum(sizes, 1e-9)
        last = step.lookup.pulls.shape[1] - 2
        beyond = np.where(sizes > last, (last / np.maximum(sizes, last)) ** 2, 1.0)
        columns = np.minimum(sizes, last).astype(int)
        f, g, rows = np.minimum(sizes, last) - columns, (places - cells)[:, None], cells[:, None]

        def look(table):
            low = table[rows, columns] * (1 - f) + table[rows, columns + 1] * f
            high = table[rows + 1, columns] * (1 - f) + table[rows + 1, columns + 1] * f
            return np.where(self.present, (low * (1 - g) + high * g) * beyond, 0.0)

        weights, shares = look(step.lookup.pulls) / np.minimum(sizes, last), look(step.lookup.inliers)
        total_information = (shares * information[:, None]).sum(axis=0)
        pull = np.nansum(weights * (self.matrix - truths), axis=0)
        moved = np.where(step.known, truths, truths + 2 * pull / (weights.sum(axis=0) + total_information))
        uncertain = np.where(step.known, 0.0, 1 / total_information)
        squares = np.nansum(shares * ((self.matrix - moved) ** 2 + uncertain), axis=1)
        move = float(np.max(np.abs(moved - truths) / step.spread))
        return Sweep(moved, squares, move, total_information, shares.sum(axis=1))

    def tally(self, weights):
        return (weights[:, None] * self.chosen).sum(axis=0)

    def agree(self, chances):
        return (self.chosen * chances).sum(axis=1)

    def agree_by_truth(self, chances):
        given = self.chosen.reshape(self.n_users, self.n_objects, -1)
        truths = chances.reshape(self.n_objects, -1)
        return np.einsum("una,nt->uta", given, truths).reshape(self.n_users, -1)

    def poll(self, poll, before):
        chances, weights = before.chances, poll.weights.reshape(self.n_users, -1)
        groups = np.zeros(self.n_objects, int) if poll.groups is None else poll.groups
        cell_group = groups[self._objects_of_cells()]
        votes = weights[:, cell_group] * self.chosen
        if poll.slopes is not None:
            for n in range(self.n_objects):
                cells = self._cells(n)
                right = (self.chosen[:, cells] * chances[cells]).sum(axis=1)
                slope = poll.slopes.reshape(weights.shape)[:, groups[n]]
                votes[:, cells] += (slope * right)[:, None] * self.chosen[:, cells]
        scores = votes.sum(axis=0) + (0 if poll.prior is None else poll.prior)
        found = np.empty_like(scores)
        for n in range(self.n_objects):
            cells, unseen = self._cells(n), 0.0 if poll.unseen is None else poll.unseen[n]
            found[cells] = self._decided(poll, n, scores[cells], unseen, chances[cells])
        agreed = np.stack([(self.chosen * found)[:, cell_group == g].sum(axis=1) for g in range(weights.shape[1])], 1)
        return Polled(found, agreed, np.abs(found - chances).max())

    def _decided(self, poll, n, scores, unseen, before):
        if poll.known is not None and poll.known[n] != -1:
            return (np.arange(len(scores)) == poll.known[n]).astype(float)
        if poll.softmax:
            top = max(scores.max(), 0.0) if unseen else scores.max()
            chances = np.exp(scores - top) / (np.exp(scores - top).sum() + unseen * np.exp(-top))
        else:
            first = np.argmax(scores >= scores.max() - 1e-9 * abs(scores.max()))
            chances = (np.arange(len(scores)) == first).astype(float)
        return (1 - poll.mix) * chances + poll.mix * before

    def confuse(self, rows, prior, before, known=None, mix=0.0, corrected=None):
        chances, options = before.chances, len(prior)
        found, counts = np.empty_like(chances), np.zeros_like(rows)
        for n in range(self.n_objects):
            cells = self._cells(n)
            scores = prior.copy()
            for user, code in zip(*np.nonzero(self.chosen[:, cells]), strict=True):
                scores += rows[user].reshape(options, options)[:, code]
                if corrected is not None:
                    scores -= chances[cells] * corrected[user].reshape(options, options)[:, code]
            if known is not None and known[n] != -1:
                found[cells] = np.arange(options) == known[n]
            else:
                even = np.exp(scores - scores.max())
                found[cells] = (1 - mix) * even / even.sum() + mix * chances[cells]
            for user, code in zip(*np.nonzero(self.chosen[:, cells]), strict=True):
                counts[user].reshape(options, options)[:, code] += found[cells]
        return Polled(found, counts, np.abs(found - chances).max())

    def _cells(self, n):
        return slice(self.answers.offsets[n], self.answers.offsets[n + 1])

    def _objects_of_cells(self):
        return np.repeat(np.arange(self.n_objects), np.diff(self.answers.offsets))


def chosen(claims):
    """Users × options of all objects: 1 where a user chose it."""
    table = np.zeros((claims.n_users, claims.answers.n_cells))
    table[claims.users, claims.answers.offsets[claims.objects] + claims.values] = 1
    return table
