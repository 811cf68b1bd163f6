"""A Kalman smoother as one block-tridiagonal solve: an object is tracked through a gap in the data.

The states of a linear Gaussian model, given all observations, are jointly Gaussian, and their
precision matrix couples each step with the next one only: a tree matrix on a chain. Solving with
it gives the posterior means; the blocks of its inverse on the chain are the posterior covariances.

Prints how far the observations and the smoothed track are from the true one, how sure the smoother
is of the position with and without observations, and how far means and covariances are from those
of the textbook recursion (Kalman filter forward, Rauch–Tung–Striebel backward). Fails if they
differ by more than 1e-8, relative to the largest entry.

    python examples/kalman_smoother.py
"""

import numpy as np
import torch
from numpy.typing import NDArray

from myosotis import Tree, TreeMatrix, tree_solve

Array = NDArray[np.float64]

STEPS, DT = 400, 0.5  # s
GAP = slice(180, 220)  # the sensor is silent
DRIFT, NOISE = 0.2, 3.0  # of the velocity, m²/s³; of a measured coordinate, m
TOLERANCE = 1e-8

# The state is (x, y, velocity in x, velocity in y); the velocity drifts like a Brownian motion.
F = np.kron([[1, DT], [0, 1]], np.eye(2))  # x_{k+1} = F x_k + noise of covariance Q
Q = DRIFT * np.kron([[DT**3 / 3, DT**2 / 2], [DT**2 / 2, DT]], np.eye(2))
H = np.eye(2, 4)  # y_k = H x_k + noise of covariance R
R = NOISE**2 * np.eye(2)
START, START_COVARIANCE = np.zeros(4), np.diag([100.0, 100.0, 10.0, 10.0])


def simulate(rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw true states (steps, 4) and observations (steps, 2), NaN in the gap."""
    states = [rng.multivariate_normal(START, START_COVARIANCE)]
    for _ in range(STEPS - 1):
        states.append(rng.multivariate_normal(F @ states[-1], Q))
    x = np.array(states)
    y = x @ H.T + rng.multivariate_normal(np.zeros(2), R, STEPS)
    y[GAP] = np.nan
    return x, y


def smooth(y: Array) -> tuple[Array, Array]:
    """Posterior means (steps, 4) and covariances (steps, 4, 4) by one solve on a chain."""
    seen = ~np.isnan(y[:, 0])
    precision, R_inverse, Q_inverse = (np.linalg.inv(m) for m in (START_COVARIANCE, R, Q))
    A = np.zeros((STEPS, 4, 4))
    A[0] += precision  # what is known beforehand
    A[seen] += H.T @ R_inverse @ H  # what each observation tells
    A[1:] += Q_inverse  # how each state follows from the one before
    A[:-1] += F.T @ Q_inverse @ F
    B = np.tile(-F.T @ Q_inverse, (STEPS - 1, 1, 1))  # row k, column k + 1, the parent of k
    C = B.transpose(0, 2, 1)  # row k + 1, column k
    u = np.nan_to_num(y) @ R_inverse @ H
    u[0] += precision @ START

    tree = Tree.chain(STEPS)
    blocks = torch.from_numpy(A), torch.from_numpy(B), torch.from_numpy(C)
    means = tree_solve(tree, *blocks, torch.from_numpy(u)[..., None])[..., 0]
    covariances, _, _ = TreeMatrix(tree, *blocks).inverse_blocks()
    assert isinstance(covariances, torch.Tensor)  # blocks of one size come as one tensor
    return means.numpy(), covariances.numpy()


def smooth_by_recursion(y: Array) -> tuple[Array, Array]:
    """The same by the textbook: Kalman filter, then Rauch–Tung–Striebel."""
    predicted, filtered = [], []
    mean, covariance = START, START_COVARIANCE
    for observation in y:
        predicted.append((mean, covariance))
        if not np.isnan(observation[0]):
            gain = covariance @ H.T @ np.linalg.inv(H @ covariance @ H.T + R)
            mean = mean + gain @ (observation - H @ mean)
            covariance = (np.eye(4) - gain @ H) @ covariance
        filtered.append((mean, covariance))
        mean, covariance = F @ mean, F @ covariance @ F.T + Q
    smoothed = [filtered[-1]]
    for k in reversed(range(STEPS - 1)):
        (mean, covariance), (next_mean, next_covariance) = filtered[k], predicted[k + 1]
        gain = covariance @ F.T @ np.linalg.inv(next_covariance)
        later_mean, later_covariance = smoothed[-1]
        mean = mean + gain @ (later_mean - next_mean)
        covariance = covariance + gain @ (later_covariance - next_covariance) @ gain.T
        smoothed.append((mean, covariance))
    means, covariances = zip(*reversed(smoothed), strict=True)
    return np.array(means), np.array(covariances)


def main() -> None:
    states, y = simulate(np.random.default_rng(0))
    means, covariances = smooth(y)
    deviation = np.sqrt(covariances[:, 0, 0])  # of the posterior in x

    def distance(positions: Array) -> float:
        return float(np.sqrt(np.nanmean(np.sum((positions - states[:, :2]) ** 2, axis=1))))

    print(f"distance from the true track   observed {distance(y):.2f} m (where there is data)")
    print(f"                               smoothed {distance(means[:, :2]):.2f} m (everywhere)")
    print(f"standard deviation of x        with data {deviation[STEPS // 4]:.2f} m")
    print(f"                               mid-gap   {deviation[GAP].max():.2f} m")

    for name, ours, textbook in zip(
        ("means", "covariances"), (means, covariances), smooth_by_recursion(y), strict=True
    ):
        error = np.abs(ours - textbook).max() / np.abs(textbook).max()
        print(f"against the recursion          {name} differ by {error:.0e}")
        if not error <= TOLERANCE:
            raise SystemExit(f"{name} differ by {error:.1e}, more than {TOLERANCE:.0e}")


if __name__ == "__main__":
    main()
