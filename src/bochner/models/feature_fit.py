"""From prepared rows to a fitted model: design, coefficients, calibration and importances, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..bases.design import Design
from ..blocks import Recipe, SparseRecipe
from ..losses import Loss
from ..moments import FoldedMoments
from .calibration import Calibration, calibrate
from .designing import ChosenDesign, choose_design
from .doubts import doubts, validated_by
from .fitting import Fit, fit_problem
from .importances import column_importances
from .parameters import ModelParameters
from .precision import too_coarse
from .preparation import PreparedData
from .targets import TargetEncoder
from .trials import Choice


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
        return ChosenDesign(self.design, self.choice, self.precision_reason)

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
) -> FeatureFit:
    """Fit to all rows; without a design that is chosen already, the data decide on one.

    The recipe tells which columns of the rows belong together.
    """
    climbs = chosen is None and parameters.precision == "auto"
    chosen = choose_design(parameters, ready) if chosen is None else chosen
    while True:
        design, outputs = chosen.design, ready.targets.outputs
        solver, reason = parameters.solver_for(design, ready.blocks.n_rows)
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
        design, ready.targets, chosen.choice, chosen.precision_reason, calibration, fit, sums,
        rows=ready.blocks.n_rows, importances=importances,
    )  # fmt: skip
