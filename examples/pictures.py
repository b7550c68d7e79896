"""Handwritten digits as bags of patches: error, the filters, and the pixels that matter, as two pictures.

python examples/pictures.py [FOLDER] writes filters.png and pixels.png there.
"""

import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from bochner import PatchFeatures, RandomFeatureClassifier

X, y = load_digits(return_X_y=True)
basis = PatchFeatures(image_shape=(8, 8), patch_size=4, grid=2, n_filters=200, random_state=0)
model = RandomFeatureClassifier(basis, random_state=0).fit(X[:1200], y[:1200])
print(f"expected error {1 - model.cv_score_:.1%}, test error {1 - model.score(X[1200:], y[1200:]):.1%}")


def mosaic(pictures, columns, zoom):
    """Pictures (n, h, w) between -1 and 1 side by side, as bytes, with a line between them."""
    n, height, width = pictures.shape
    rows = -(-n // columns)
    sheet = np.full((rows * (height + 1) + 1, columns * (width + 1) + 1), 1.0)
    for k, picture in enumerate(pictures):
        top, left = 1 + k // columns * (height + 1), 1 + k % columns * (width + 1)
        sheet[top : top + height, left : left + width] = picture
    return np.rint(127.5 * (1.0 + sheet)).astype(np.uint8).repeat(zoom, axis=0).repeat(zoom, axis=1)


def write_png(path, pixels):
    """A grey picture, by the few lines that the format needs."""
    height, width = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + content)


def within_one(pictures):
    """Each picture over its largest number."""
    return pictures / np.abs(pictures).max(axis=(1, 2), keepdims=True).clip(min=1e-12)


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
fitted = model.design_.basis.map_
write_png(folder / "filters.png", mosaic(within_one(fitted.map.filters[:60].reshape(-1, 4, 4)), 20, 8))

# The gradient of the score of its own class, below each of ten digits: white speaks for it, black against it.
tests = [1200 + int(np.flatnonzero(y[1200:] == digit)[0]) for digit in range(10)]
slopes = fitted.slopes(X[tests], model.coef_.T)
own = np.stack([slope[:, digit] for digit, slope in enumerate(slopes)]).reshape(-1, 8, 8)
shown = np.concatenate([X[tests].reshape(-1, 8, 8) / 8.0 - 1.0, within_one(own)])
write_png(folder / "pixels.png", mosaic(shown, 10, 8))
