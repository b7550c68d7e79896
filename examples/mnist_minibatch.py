"""Softmax regression on Fastfood features of MNIST, in mini-batches: Figure 4 of the McKernel paper.

RBF-Matern kernel with t = 40 and sigma = 1, pixels in [0, 1], plain stochastic gradient descent with batches of 10 and
a learning rate of 0.001 for 20 epochs; beside it, softmax regression on the pixels with a rate of 0.01. An expansion
has 1024 frequencies. The paper's features lack the factor 1/sqrt(frequencies), and its learning rate is for such
features: the model below multiplies by sqrt(frequencies).

    BOCHNER_DATA=... python examples/mnist_minibatch.py --epochs 20 --expansions 1 2 4 8
    BOCHNER_DATA=... python examples/mnist_minibatch.py --epochs 1 --rows 5000 --expansions 1 2   # a minute's try
"""

import argparse
import math

import numpy as np
import torch

from bochner import Fastfood, data
from bochner.nn import FastfoodLayer

SEED = 1398239763  # the paper's
BATCH, RATE, BASELINE_RATE = 10, 0.001, 0.01
PADDED = 1024  # the next power of two of 784 pixels


class Scaled(torch.nn.Module):
    """Times a constant."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x


def tensors(pictures, labels):
    return torch.tensor(pictures / np.float32(255)), torch.tensor(labels.astype(np.int64))


def kernel_model(expansions):
    basis = Fastfood(2 * PADDED * expansions, kernel="ball_matern", degree=40, bandwidth=1.0, random_state=SEED)
    layer = FastfoodLayer(basis, 784)
    return torch.nn.Sequential(layer, Scaled(math.sqrt(PADDED * expansions)), zero_linear(layer.out_features))


def zero_linear(inputs):
    linear = torch.nn.Linear(inputs, 10)
    torch.nn.init.zeros_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    return linear


def train(model, x, y, rate, epochs, report):
    optimizer = torch.optim.SGD((weights for weights in model.parameters() if weights.requires_grad), lr=rate)
    order = torch.Generator().manual_seed(SEED)
    for epoch in range(1, epochs + 1):
        for batch in torch.randperm(len(x), generator=order).split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
        report(epoch)


@torch.no_grad()
def accuracy(model, x, y):
    return sum((model(a).argmax(1) == b).sum().item() for a, b in zip(x.split(500), y.split(500), strict=True)) / len(x)


def main():
    parser = argparse.ArgumentParser(description="Figure 4 of McKernel: MNIST in mini-batches.")
    parser.add_argument("--expansions", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=60_000, help="training pictures to use")
    arguments = parser.parse_args()
    digits = data.mnist().first(arguments.rows)
    (x, y), test = tensors(digits.X, digits.y), tensors(digits.X_test, digits.y_test)
    models = {"softmax on pixels": (torch.nn.Sequential(zero_linear(784)), BASELINE_RATE)}
    for expansions in arguments.expansions:
        models[f"{expansions} expansions"] = kernel_model(expansions), RATE
    for name, (model, rate) in models.items():

        def report(epoch, name=name, model=model):
            print(f"{name:18} epoch {epoch:2}  test accuracy {accuracy(model, *test):.4f}", flush=True)

        train(model, x, y, rate, arguments.epochs, report)


if __name__ == "__main__":
    main()
