"""One peer on one core in a process of its own: python peer_worker.py NAME PROBLEM.npz RESULT.npz

PROBLEM holds X (N, d), y (N,), mode (d,), root (d, d) with root @ root.T the covariance there, seconds and seed; RESULT
receives draws (chains, n, d), the seconds they took and the set-up apart. Exit code 3 means the peer is not installed.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

NOT_INSTALLED = 3
WALKERS = 32
BLOCK = 4096  # rows that emcee's likelihood takes together
WARMUP, PIECE = 300, 20  # draws of NUTS before the clock starts, and between two looks at it

Outcome = tuple[np.ndarray, float, float]  # draws, seconds, seconds of set-up


def log_posterior(X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """log N(theta; 0, 1) + sum_i l_i(theta) at points (K, d), in float32 terms added up in float64."""
    responses = y.astype(np.float64) @ X.astype(np.float64)

    def density(points: np.ndarray) -> np.ndarray:
        across = np.ascontiguousarray(points.T.astype(np.float32))
        total = points @ responses - 0.5 * (points * points).sum(axis=1)
        for first in range(0, X.shape[0], BLOCK):
            eta = X[first : first + BLOCK] @ across
            # log(1 + e^x) = max(x, 0) + log(1 + e^-|x|): the fastest plain NumPy has in float32
            softplus = np.maximum(eta, 0) + np.log(1 + np.exp(-np.abs(eta)))
            total -= softplus.sum(axis=0, dtype=np.float64)
        return total

    return density


def emcee_draws(given: Any) -> Outcome:
    """The affine-invariant ensemble, all walkers in one call, started from the Laplace approximation."""
    import emcee

    began = time.perf_counter()
    generator = np.random.default_rng(int(given["seed"]))
    walkers, size = max(WALKERS, 2 * given["mode"].size + 2), given["mode"].size
    start = given["mode"] + generator.standard_normal((walkers, size)) @ given["root"].T
    sampler = emcee.EnsembleSampler(walkers, size, log_posterior(given["X"], given["y"]), vectorize=True)
    state = sampler.run_mcmc(start, 2)
    sampler.reset()
    ready = time.perf_counter()
    while time.perf_counter() - ready < float(given["seconds"]) or sampler.iteration < 8:
        state = sampler.run_mcmc(state, 5)
    seconds = time.perf_counter() - ready
    return np.swapaxes(sampler.get_chain(), 0, 1), seconds, ready - began


def nuts_draws(given: Any) -> Outcome:
    """NumPyro's NUTS in coordinates whitened by the curvature at the mode; its step size is adapted in set-up."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import NUTS

    began = time.perf_counter()
    X, y = jnp.asarray(given["X"]), jnp.asarray(given["y"])
    mode, root = jnp.asarray(given["mode"], jnp.float32), jnp.asarray(given["root"], jnp.float32)

    def potential(z: Any) -> Any:
        theta = mode + root @ z
        eta = X @ theta
        return 0.5 * jnp.sum(theta * theta) - jnp.sum(y * eta - jax.nn.softplus(eta))

    kernel = NUTS(potential_fn=potential, adapt_mass_matrix=False)
    state = kernel.init(jax.random.PRNGKey(int(given["seed"])), WARMUP, jnp.zeros(mode.shape), (), {})

    def one(state: Any, nothing: Any) -> Any:
        state = kernel.sample(state, (), {})
        return state, state.z

    # MCMC.run would compile anew at every call, so that it could not be stopped by the clock.
    piece = jax.jit(lambda state: jax.lax.scan(one, state, None, length=PIECE))
    for _ in range(WARMUP // PIECE):
        state, _ = piece(state)
    ready = time.perf_counter()
    found: list[np.ndarray] = []
    while time.perf_counter() - ready < float(given["seconds"]) or len(found) < 2:
        state, z = piece(state)
        found.append(np.asarray(z, np.float64))
    seconds = time.perf_counter() - ready
    return (given["mode"] + np.concatenate(found) @ given["root"].T)[None], seconds, ready - began


PEERS: dict[str, Callable[[Any], Outcome]] = {"emcee": emcee_draws, "numpyro": nuts_draws}


def main() -> None:
    """Pin to one core, run the peer, write what came of it."""
    name, problem, result = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with np.load(problem) as file:
        given = dict(file)
    try:
        draws, seconds, setup = PEERS[name](given)
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    np.savez(result, draws=draws, seconds=seconds, setup=setup)


if __name__ == "__main__":
    main()
