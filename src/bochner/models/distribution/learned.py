"""Frequencies of both layers learned from the bags, from random ones as a start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ...solvers import Adam
from ...streams import Stream
from .bags import SequenceBags
from .gradients import Net, Task, loss_and_gradient


class Learned(NamedTuple):
    """The net that was found, its loss, and how the search ended."""

    net: Net
    loss: float
    status: str


def learn(
    net: Net, task: Task, optimizer: str, max_iter: int, *, batch_size: int, learning_rate: float, seed: int
) -> Learned:
    if optimizer == "lbfgs":
        return learn_quasi_newton(net, task, max_iter)
    return learn_adam(net, task, max_iter, batch_size=batch_size, learning_rate=learning_rate, seed=seed)


def learn_quasi_newton(net: Net, task: Task, max_iter: int) -> Learned:
    """L-BFGS on all bags; nothing larger than a piece of points is held."""

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = loss_and_gradient(net.shaped(flat), task)
        return loss, gradient.flat()

    found = minimize(objective, net.flat(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    message = str(found.message).lower()
    return Learned(net.shaped(found.x), float(found.fun), f"L-BFGS, {found.nit} iterations: {message}")


def learn_adam(net: Net, task: Task, max_iter: int, *, batch_size: int, learning_rate: float, seed: int) -> Learned:
    """Adam on a few bags at a time, `max_iter` times through all of them, with steps that shrink to nothing.

    Steps are relative to the size of what they change: of frequencies, or of coefficients.
    """
    if not isinstance(task.bags, SequenceBags):
        raise ValueError("optimizer='adam' takes bags in any order, which blocks do not allow: use optimizer='lbfgs'.")
    sizes = np.concatenate([np.full(part.size, np.sqrt(np.mean(part**2)) or 1.0) for part in net])
    batches = list(few_bags(len(task.y), batch_size, max_iter, seed))
    method = Adam(epochs=len(batches))
    state = method.begin(net.flat() / sizes)
    for step, few in enumerate(batches):
        gradient = loss_and_gradient(net.shaped(sizes * state["x"]), part_of(task, few))[1].flat()
        method.step(state, sizes * gradient, method.rate(learning_rate, step))
    found = net.shaped(sizes * state["x"])
    return Learned(found, loss_and_gradient(found, task)[0], f"Adam, {max_iter} times through all bags")


def few_bags(count: int, size: int, turns: int, seed: int) -> Iterator[np.ndarray]:
    """All bags `turns` times, each time in another order, `size` at a time."""
    for turn in range(turns):
        order = Stream(seed, "order of bags").permutation(turn, turn + 1, count)[0]
        for start in range(0, count, size):
            yield order[start : start + size]


def part_of(task: Task, numbers: np.ndarray) -> Task:
    """The task of some bags, with their share of the penalties."""
    assert isinstance(task.bags, SequenceBags)
    share = len(numbers) / len(task.y)
    return replace(
        task, bags=task.bags.some(numbers), y=task.y[numbers], weight=task.weight[numbers], alpha=share * task.alpha,
        frequency_alpha=share * task.frequency_alpha,
    )  # fmt: skip
