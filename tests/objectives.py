"""Objectives that have nothing to do with ranking, exact and noisy, to try solvers on."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import Point


class Matrix:
    def __init__(self, matrix):
        self.matrix = matrix

    def matvec(self, v):
        return self.matrix @ v


class Plain:
    """An objective by `loss_and_gradient` and, where there are, `hessian` and `preconditioner`."""

    precision = 1e-12
    value_error = gradient_error = score_norm = 0.0

    def at(self, w, scores=None):
        value, gradient = self.loss_and_gradient(w)
        return Point(
            value,
            gradient,
            scores=w,
            hessian=lambda: self.hessian(w),
            preconditioner=lambda: self.preconditioner(w),
            rounding=self.rounding,
            score_norm=self.score_norm,
            value_error=self.value_error,
            gradient_error=self.gradient_error,
        )

    def preconditioner(self, w):
        return None

    def rounding(self):
        return np.zeros(self.n_features)

    def sharpen(self):
        return False

    def refine(self):
        return False


class Smooth(Plain):
    """sum of sqrt(1 + (a_k'w - b_k)^2), with the Hessian exact, diagonal, or plainly wrong."""

    def __init__(self, hessian="exact", inverse="none", rows=60, features=7, penalty=0.1):
        rng = np.random.default_rng(0)
        self.A = rng.normal(size=(rows, features)) * np.logspace(0, 2, features)
        self.b = 10 * rng.normal(size=rows)
        self.penalty, self.n_features = penalty, features
        self.kind, self.inverse_kind = hessian, inverse
        self.refined = 0

    def loss_and_gradient(self, w):
        residual = self.A @ w - self.b
        root = np.sqrt(1 + residual**2)
        return float(root.sum()), self.A.T @ (residual / root)

    def exact(self, w):
        residual = self.A @ w - self.b
        curvature = (1 + residual**2) ** -1.5
        return self.A.T @ (curvature[:, None] * self.A) + self.penalty * np.eye(self.n_features)

    def hessian(self, w):
        wrong = self.kind == "wrong" and not self.refined
        return Matrix(self.exact(w) * (0.02 if wrong else 1.0))

    def preconditioner(self, w):
        if self.inverse_kind == "none":
            return None
        exact = self.exact(w)
        if self.inverse_kind == "diagonal":
            return Matrix(np.diag(1 / np.diag(exact)))
        return Matrix(np.linalg.inv(exact))

    def refine(self):
        self.refined += 1
        return self.kind == "wrong" and self.refined == 1


class Noisy(Smooth):
    """The smooth sum with every row off by a part of itself: known, hidden, made smaller."""

    def __init__(self, error, least=1e-13, **options):
        super().__init__(**options)
        self.error, self.least, self.sharpened = error, least, 0
        self.absolute = np.linalg.norm(np.abs(self.A).sum(axis=0))

    def loss_and_gradient(self, w):
        residual = self.A @ w - self.b
        root = np.sqrt(1 + residual**2)
        off = self.error * np.sin(1e9 * residual)
        return float((root + off).sum()), self.A.T @ (residual / root + off)

    @property
    def value_error(self):
        return self.error * self.b.size

    @property
    def gradient_error(self):
        return self.error * self.absolute

    def sharpen(self):
        if self.error <= self.least:
            return False
        self.error, self.sharpened = self.error / 100, self.sharpened + 1
        return True
