"""Viterbi decoding: three states per phone from left to right with loops, and a bigram of phones between them.

A frame's likelihood is, up to a factor of its own, the posterior of the state over its prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .labels import PHONES, STATES_PER_PHONE

STATES = STATES_PER_PHONE * len(PHONES)


def best_path(likelihoods: np.ndarray, initial: np.ndarray, transitions: np.ndarray, final: np.ndarray) -> np.ndarray:
    """The states (T,) of the largest sum of logarithms: initial, T likelihoods (T, S), transitions (S, S) and final."""
    score = initial + likelihoods[0]
    came = np.empty(likelihoods.shape, dtype=np.int64)
    into = np.ascontiguousarray(transitions.T)  # row j: from each state into j
    everyone = np.arange(len(initial))
    for t, frame in enumerate(likelihoods[1:], start=1):
        candidates = into + score
        came[t] = candidates.argmax(axis=1)
        score = candidates[everyone, came[t]] + frame
    path = np.empty(len(likelihoods), dtype=np.int64)
    path[-1] = int(np.argmax(score + final))
    for t in range(len(path) - 1, 0, -1):
        path[t - 1] = came[t, path[t]]
    return path


@dataclass(frozen=True)
class Grammar:
    """What is known of phones before any sound, from the states of training frames, as logarithms."""

    first: np.ndarray  # (phones,) of the first phone of an utterance
    bigram: np.ndarray  # (phones, phones), from and to
    stay: np.ndarray  # (states,) of the loop
    leave: np.ndarray
    prior: np.ndarray  # (states,) of a frame

    @classmethod
    def of(cls, utterances: Sequence[np.ndarray]) -> Grammar:
        """Estimated with one count added to each."""
        phones = len(PHONES)
        first, bigram = np.ones(phones), np.ones((phones, phones))
        frames, visits = np.full(STATES, 2.0), np.ones(STATES)  # a state unheard of lasts two frames
        for states in utterances:
            runs = states[np.flatnonzero(np.diff(states, prepend=-1))]
            said = phones_of(states)
            first[said[0]] += 1
            np.add.at(bigram, (said[:-1], said[1:]), 1.0)
            np.add.at(frames, states, 1.0)
            np.add.at(visits, runs, 1.0)
        stay = np.clip(1.0 - visits / frames, 0.05, 0.95)
        return cls(
            np.log(first / first.sum()), np.log(bigram / bigram.sum(axis=1, keepdims=True)), np.log(stay),
            np.log1p(-stay), np.log(frames / frames.sum()),
        )  # fmt: skip

    def machine(self, weight: float, bonus: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """initial, transitions and final; the bigram counts `weight` times, and a new phone is worth `bonus`."""
        transitions = np.full((STATES, STATES), -np.inf)
        index = np.arange(STATES)
        transitions[index, index] = self.stay
        inner = index[index % STATES_PER_PHONE < STATES_PER_PHONE - 1]
        transitions[inner, inner + 1] = self.leave[inner]
        starts, ends = index[::STATES_PER_PHONE], index[STATES_PER_PHONE - 1 :: STATES_PER_PHONE]
        transitions[np.ix_(ends, starts)] = self.leave[ends][:, None] + weight * self.bigram + bonus
        initial, final = np.full(STATES, -np.inf), np.full(STATES, -np.inf)
        initial[starts], final[ends] = weight * self.first, 0.0
        return initial, transitions, final


def phones_of(states: np.ndarray) -> np.ndarray:
    """The phones that a sequence of states goes through: one begins where the phone changes or starts over."""
    phone, place = states // STATES_PER_PHONE, states % STATES_PER_PHONE
    begins = (np.diff(phone, prepend=-1) != 0) | (np.diff(place, prepend=0) < 0)
    return np.asarray(phone[begins])
