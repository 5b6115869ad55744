#!/usr/bin/env python3
"""Trains a small network on scikit-learn's handwritten digits and exports it; the two files it writes are
committed.

    train.py      writes digits.pt2 and digits_test.npz beside this script (about 20 s)

digits.pt2 is what torch.export.save writes, nothing else. digits_test.npz holds the images the network never
saw, their labels, and what eager PyTorch answers for them. Needs torch and scikit-learn:
scripts/install_python.sh test
"""

from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

HERE = Path(__file__).resolve().parent
SEED = 7
EPOCHS = 40
BATCH = 64


class Digits(nn.Module):
    """Two convolutions with batch norm, a pool, a linear layer: 8x8 gray images to ten scores."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classify = nn.Linear(32 * 4 * 4, 10)

    def forward(self, image):
        return self.classify(self.features(image).flatten(1))


def load_split():
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)
    train, test, *labels = train_test_split(
        images, digits.target, test_size=0.25, random_state=SEED, stratify=digits.target
    )
    return train.reshape(-1, 1, 8, 8), test.reshape(-1, 1, 8, 8), *labels


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(images)).split(BATCH):
            loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main() -> None:
    torch.manual_seed(SEED)
    train_images, test_images, train_labels, test_labels = load_split()
    model = Digits()
    train(model, torch.from_numpy(train_images), torch.from_numpy(train_labels))

    model.eval()
    with torch.no_grad():
        scores = model(torch.from_numpy(test_images)).numpy()
    accuracy = (scores.argmax(1) == test_labels).mean()
    print(f"{accuracy:.1%} of {len(test_labels)} held-out digits are recognized")

    program = torch.export.export(model, (torch.from_numpy(test_images[:1]),))
    torch.export.save(program, HERE / "digits.pt2")
    pixels = np.round(test_images * 16).astype(np.uint8)
    np.savez_compressed(
        HERE / "digits_test.npz",
        pixels=pixels,
        labels=test_labels.astype(np.uint8),
        scores=scores.astype(np.float32),
    )


if __name__ == "__main__":
    main()
