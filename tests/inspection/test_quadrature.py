"""Integrals of gradients against closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklofi.inspection._quadrature import FIRST_STEPS, SHORTEST, integrate


def along(*functions):
    """What `integrate` evaluates: of each path the value and the gradient at t."""

    def evaluate(path, t):
        results = [functions[i](place) for i, place in zip(path, t, strict=True)]
        gradients = np.concatenate([gradient for _, gradient in results])
        return np.array([value for value, _ in results]), gradients.reshape(len(gradients), -1)

    return evaluate


def run(*functions, tol=1e-3, n_steps=1000, eps=1e-15):
    sizes = np.array([len(function(0.5)[1]) for function in functions])
    return integrate(along(*functions), sizes, tol=tol, n_steps=n_steps, eps=eps)


def square_and_cube(t):
    """f(p) = p_0 ** 2 - p_1 ** 3, which integrates to 1 and -1."""
    return t**2 - t**3, [2 * t, -3 * t**2]


def kink(t):
    """f(p) = |p_0 + 2 p_1 - 1| ends where it starts; its integrals are 1 / 3 and 2 / 3 of 1."""
    sign = np.sign(3 * t - 1)
    return abs(3 * t - 1), [sign, 2 * sign]


def late_ramp(t):
    """Nothing but at the very end, beyond the last but one of any equal steps."""
    width = 1e-2
    is_late = t > 1 - width
    return max(0, t - 1 + width) / width, [is_late * 0.25 / width, is_late * 0.75 / width]


def jump(t):
    """What gradients cannot see, with one component that they can."""
    return t + 10 * (t > 0.3), [1.0, 0.0]


def constant(t):
    return 3.0, [0.0]


def test_integrals_equal_closed_forms():
    result = run(square_and_cube, kink, late_ramp)
    assert_allclose(result.components[:, 0], [1, -1, 1 / 3, 2 / 3, 0.25, 0.75], atol=2e-3)
    assert_array_equal(result.starts, [0, 1, 0])
    assert_allclose(result.ends, [0, 2, 1])
    assert result.is_reached.all()


def test_residuals_are_what_the_sums_of_components_miss():
    result = run(square_and_cube, kink, late_ramp, jump, tol=0.1)
    sums = result.components[:, 0].reshape(4, 2).sum(axis=1)
    assert_allclose(result.residuals, result.ends - result.starts - sums, atol=1e-12)
    sizes = np.abs(result.components[:, 0]).reshape(4, 2).sum(axis=1)
    assert (np.abs(result.residuals) <= 0.1 * sizes)[:3].all()


def test_only_paths_that_need_it_get_more_steps():
    result = run(constant, late_ramp, square_and_cube)
    assert result.n_steps[0] == FIRST_STEPS
    assert FIRST_STEPS < result.n_steps[1] < 100
    alone = [run(one) for one in (constant, late_ramp, square_and_cube)]
    assert_array_equal(result.n_steps, [one.n_steps[0] for one in alone])
    assert_array_equal(result.components, np.concatenate([one.components for one in alone]))


def test_smaller_tolerances_are_reached_by_more_steps():
    errors, n_steps = [], []
    for tol in (1e-1, 1e-3, 1e-5):
        result = run(square_and_cube, tol=tol)
        errors.append(np.abs(result.components[:, 0] - [1, -1]).max())
        n_steps.append(result.n_steps[0])
    assert errors[0] >= errors[1] > errors[2]
    assert n_steps[0] <= n_steps[1] < n_steps[2]
    assert errors[2] < 2e-5


def test_residuals_that_cancel_each_other_do_not_end_the_search():
    """Two ramps up and down again: what one misses, the other adds."""

    def up_and_down(t):
        steep = (0.21 < t < 0.22) * 100.0, (0.71 < t < 0.72) * -100.0
        value = 100 * np.clip(t - 0.21, 0, 0.01) - 100 * np.clip(t - 0.71, 0, 0.01)
        return value, [steep[0], steep[1]]

    result = run(up_and_down, tol=0.01)
    assert_allclose(result.components[:, 0], [1, -1], atol=0.02)


def test_jumps_stay_in_the_residual():
    result = run(jump, square_and_cube)
    assert_array_equal(result.is_reached, [False, True])
    assert_allclose(result.components[:2, 0], [1, 0], atol=2 * SHORTEST)
    assert result.residuals[0] == pytest.approx(10, abs=1e-5)
    assert result.n_steps[0] < 100


def test_gradients_beside_a_jump_do_not_count():
    """As where a vector of tiny norm is scaled to unit norm."""

    def spike(t):
        return t + 10 * (t > 0.5), [1.0, 1e12 * (t == 0.5)]

    result = run(spike)
    assert_allclose(result.components[:, 0], [1, 0], atol=4 * SHORTEST)


def test_too_few_steps_are_said_to_be():
    for n_steps in (1, 3, 17):
        result = run(late_ramp, n_steps=n_steps)
        assert result.n_steps[0] == n_steps
        assert not result.is_reached[0]
        assert abs(result.residuals[0]) > 1e-3 * np.abs(result.components).sum()


def test_rounding_is_tolerated():
    noise = np.random.RandomState(0)

    def noisy(t):
        return 3 + 1e-7 * noise.randn(), [0.0]

    assert run(noisy, eps=1e-7).is_reached.all()
    assert not run(noisy, eps=1e-15, n_steps=50).is_reached.any()


def test_other_columns_are_integrated_along_the_same_steps():
    def in_parts(t):
        value, gradient = kink(t)
        return value, np.column_stack([gradient, [np.exp(t), 0]])

    result = run(in_parts)
    assert_allclose(result.components[0, 1], np.e - 1, rtol=1e-2)
    assert_array_equal(result.components[:, 0], run(kink).components[:, 0])
