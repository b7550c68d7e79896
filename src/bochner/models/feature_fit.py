"""From prepared rows to a fitted model: design, coefficients, calibration and importances, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from ..arrays import to_host
from ..bases import Basis, BasisUnion
from ..bases.design import Design
from ..blocks import Recipe, SparseRecipe
from ..losses import Loss
from ..moments import FoldedMoments
from ..penalties import PERFECT
from .calibration import Calibration, calibrate, validated_by
from .designing import ChosenDesign, choose_design
from .fitting import Fit, fit_problem
from .importances import column_importances
from .metric_learning import has_moments
from .metric_rounds import learn_metric
from .metric_search import AtHand, LearnedMetric
from .parameters import ModelParameters, new_basis
from .precision import too_coarse
from .preparation import PreparedData
from .targets import TargetEncoder
from .trials import Choice, design_of

NOTHING = 0.01  # R^2 below which a model explains nothing
CLIPPED = 0.01  # share of numbers beyond the range


@dataclass(frozen=True, eq=False)
class FeatureFit:
    """All that a fit on random features leaves: predictions, sums, words and files are made of it.

    Attributes
    ----------
    design : Design
        From rows to features.
    targets : TargetEncoder
        From targets to codes, and from scores to targets.
    choice : Choice
        How rows are scaled, the weight of the linear part, and why.
    precision_reason : str
        Why the precision is what it is.
    metric : LearnedMetric
        The metric before the features, if one was learned; rows that come and go leave it as it is.
    calibration : Temperature or Widening
        What rows left out say of probabilities or deviations.
    fit : Fit or None
        The solution; None if the sums changed since, and it is to be made of them.
    sums : FoldedMoments or None
        Sums of the features by fold, if there are any.
    widest : Design or None
        The design whose sums these are, if the model uses only its first columns.
    rows : int
        Number of rows, where there are no sums to tell it.
    importances : ndarray or None
        Share of each column in the variance of predictions; None once rows or features changed.
    """

    design: Design
    targets: TargetEncoder
    choice: Choice
    precision_reason: str
    metric: LearnedMetric
    calibration: Calibration
    fit: Fit | None = None
    sums: FoldedMoments | None = None
    widest: Design | None = None
    rows: int = 0
    importances: np.ndarray | None = None

    @property
    def summed(self) -> Design:
        """The design whose sums are at hand."""
        return self.widest or self.design

    @property
    def solved(self) -> Fit:
        """The solution, which is there."""
        assert self.fit is not None
        return self.fit

    @property
    def chosen(self) -> ChosenDesign:
        """The design with the reasons for it."""
        return ChosenDesign(self.design, self.choice, self.precision_reason, self.metric)

    def doubts(self) -> list[str]:
        """What the numbers say against the fit."""
        return doubts(self.solved, self.design, self.targets.classifies, self.calibration.leverage)

    def outdated(self, loss: Loss, sums: FoldedMoments | None) -> FeatureFit:
        """With other sums: the solution is made when it is needed, and probabilities need new rows."""
        targets = self.targets.without_range()
        return replace(
            self, fit=None, sums=sums, targets=targets, importances=None, calibration=calibrate(targets, loss)
        )


def fit_features(
    parameters: ModelParameters,
    ready: PreparedData,
    recipe: Recipe | SparseRecipe | None = None,
    chosen: ChosenDesign | None = None,
    climbs: bool = True,
) -> FeatureFit:
    """Fit to all rows; without a design that is chosen already, the data decide on one.

    The recipe tells which columns of the rows belong together. Where the data decide on the precision, a design climbs
    to a finer one if all rows ask for it.
    """
    climbs = climbs and parameters.precision == "auto"
    chosen = choose_design(parameters, ready, recipe) if chosen is None else chosen
    while True:
        design, outputs = chosen.design, ready.targets.outputs
        solver, reason = parameters.solver_for(design, ready.blocks.n_rows, ready.of_tensors)
        problem = replace(parameters.problem(design, ready.blocks, outputs), journal=ready.remember)
        solved, sums, held_out = fit_problem(problem, solver, reason)
        trouble = ""
        if climbs and sums is not None and design.basis.is_integer:
            trouble = too_coarse(design, sums.total(), solved.solution.alpha, sums.rows)
        if not trouble:
            break
        chosen = chosen.finer(ready, trouble)  # a sample allowed this precision, but all rows do not
    fit = validated_by(solved, held_out, parameters.classifies)
    calibration = calibrate(ready.targets, parameters.loss, held_out, fit.noise)
    importances = column_importances(design, fit.solution.coefficients, ready.sample, recipe)
    return FeatureFit(
        design, ready.targets, chosen.choice, chosen.precision_reason, chosen.metric, calibration, fit,
        sums, rows=ready.blocks.n_rows, importances=importances,
    )  # fmt: skip


def refit_metric(
    parameters: ModelParameters, found: FeatureFit, ready: PreparedData, recipe: Recipe | SparseRecipe | None = None
) -> FeatureFit:
    """Learn the metric again, first from the sums at hand where these tell it, and fit to all rows in it."""
    if parameters.metric is None:
        raise ValueError("refit_metric needs a metric to learn: set_params(metric='diagonal'), 'full' or 'auto' first.")
    basis, choice = unfitted(parameters, found.design.basis), found.choice
    metric, root = learn_metric(parameters, basis, choice, ready, recipe, at_hand(found))
    design = design_of(choice, basis, ready.sample, ready.largest, root)
    return fit_features(parameters, ready, recipe, ChosenDesign(design, choice, found.precision_reason, metric))


def unfitted(parameters: ModelParameters, fitted: Basis) -> Basis:
    """A basis that draws what the fitted one drew, with the bandwidth that was asked for."""
    if isinstance(fitted, BasisUnion):  # its weights are chosen, and its parts have kept their bandwidths
        return clone(fitted).set_params(random_state=fitted.seed_)
    basis = new_basis(parameters.basis).set_params(precision=fitted.precision, random_state=fitted.seed_)
    return basis.sized(int(fitted.n_components))


def at_hand(found: FeatureFit) -> AtHand | None:
    """The sums of all rows with their model, if they tell its gradients."""
    if found.sums is None or found.widest is not None or not has_moments(found.design):
        return None
    return AtHand(found.design, found.sums.total(), to_host(found.solved.solution.coefficients))


def doubts(fit: Fit, design: Design, classifies: bool, leverage: float) -> list[str]:
    """Sentences, each of which says what is the matter and what can be done; see `leverage_share`."""
    found, validated = [], fit.validated
    if not classifies and validated is not None and validated.score < NOTHING:
        found.append(
            f"The model explains nothing: its cross-validated R^2 is {validated.score:.2f}, no better than the mean. "
            "Other columns, another basis or bandwidth may."
        )
    elif fit.end == "upper":
        found.append("The largest of the penalties tried was best: the features hardly help; try another basis.")
    elif fit.end == "lower" and (validated is None or 1.0 - validated.score > PERFECT):
        found.append(
            "The smallest of the penalties tried was best: more features, or another bandwidth, would probably serve."
        )
    if leverage > 0.5:
        found.append(
            f"A hundredth of the rows has {leverage:.0%} of all leverage: outliers decide the fit; "
            "scale='robust' clips them."
        )
    clipped = float(getattr(design.basis, "clipped_fraction_", 0.0))
    if clipped > CLIPPED:
        found.append(f"{clipped:.1%} of the sampled numbers lie beyond the range of {design.precision}: clipped.")
    return found
