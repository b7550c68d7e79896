"""The whole way from utterances to a phone error rate: frames, a softmax over states, decoding, scoring."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from .corpus import Parts, Utterance
from .decoding import STATES, Grammar, best_path, phones_of
from .frames import frame_centres, log_mel, normalized, spliced
from .labels import modelled, scored, states
from .scoring import phone_error_rate

WEIGHTS, BONUSES = (1.0, 2.0, 3.0), (-2.0, 0.0, 2.0)  # of the decoder, to choose from on the development speakers
UNSEEN = 1e-10  # the posterior of a state that no training frame has


@dataclass(frozen=True)
class Spoken:
    """An utterance as rows, its state in each, and what was said."""

    rows: np.ndarray
    states: np.ndarray
    said: list[str]


@dataclass(frozen=True)
class Task:
    """What a recogniser learns from and is judged by."""

    train: list[Spoken]
    development: list[Spoken]
    test: list[Spoken]
    grammar: Grammar

    @classmethod
    def of(cls, parts: Parts) -> Task:
        train = prepared(parts.train)
        grammar = Grammar.of([utterance.states for utterance in train])
        return cls(train, prepared(parts.development), prepared(parts.test), grammar)

    @property
    def frames(self) -> int:
        return sum(len(utterance.rows) for utterance in self.train)


def prepared(utterances: list[Utterance]) -> list[Spoken]:
    """Rows are normalised over each speaker."""
    by_speaker: dict[str, list[int]] = defaultdict(list)
    rows = [log_mel(utterance.signal) for utterance in utterances]
    for k, utterance in enumerate(utterances):
        by_speaker[utterance.speaker].append(k)
    for members in by_speaker.values():
        for k, made in zip(members, normalized([rows[k] for k in members]), strict=True):
            rows[k] = made
    return [
        Spoken(
            spliced(made).astype(np.float32),
            states(utterance.segments, frame_centres(len(made))),
            scored(modelled(phone) for _, _, phone in utterance.segments),
        )
        for made, utterance in zip(rows, utterances, strict=True)
    ]


@dataclass(frozen=True)
class Recognised:
    """Per cent of wrong phones and of wrong frames on the test speakers, and how the decoder's settings were chosen."""

    phone_error: float
    frame_error: float
    development_error: float  # of phones
    weight: float
    bonus: float


def recognise(task: Task, model: Any) -> Recognised:
    """Fit a classifier with predict_proba to the training frames; choose the decoder's settings; judge."""
    X = np.concatenate([utterance.rows for utterance in task.train])
    y = np.concatenate([utterance.states for utterance in task.train])
    model.fit(X, y)
    development = [likelihoods(task, model, utterance) for utterance in task.development]
    settings = [(weight, bonus) for weight in WEIGHTS for bonus in BONUSES]
    errors = [phone_error(task, task.development, development, *setting) for setting in settings]
    weight, bonus = settings[int(np.argmin(errors))]
    test = [likelihoods(task, model, utterance) for utterance in task.test]
    guesses = np.concatenate([(heard + task.grammar.prior).argmax(axis=1) for heard in test])
    truth = np.concatenate([utterance.states for utterance in task.test])
    frame_error = 100.0 * float(np.mean(guesses != truth))
    found = phone_error(task, task.test, test, weight, bonus)
    return Recognised(found, frame_error, min(errors), weight, bonus)


def likelihoods(task: Task, model: Any, utterance: Spoken) -> np.ndarray:
    """log p(state | frame) - log p(state), for all states."""
    posteriors = np.full((len(utterance.rows), STATES), UNSEEN)
    posteriors[:, model.classes_] = np.maximum(model.predict_proba(utterance.rows), UNSEEN)
    return np.asarray(np.log(posteriors) - task.grammar.prior)


def phone_error(task: Task, utterances: list[Spoken], heard: list[np.ndarray], weight: float, bonus: float) -> float:
    initial, transitions, final = task.grammar.machine(weight, bonus)
    return phone_error_rate(
        (utterance.said, scored(phones_of(best_path(frames, initial, transitions, final))))
        for utterance, frames in zip(utterances, heard, strict=True)
    )
