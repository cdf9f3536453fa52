"""A weight on a synthetic liver, against scikit-fem on another mesh."""

from validation.liver import compare


def test_surface_of_a_loaded_organ_lies_where_it_should():
    """In the mean within 0.6 mm, the accuracy of the scanner in the protocol, already on a coarse mesh."""
    mean, largest, dent, body = compare(0.013, 0.011)
    assert 2_000 < body.element_count < 6_000
    assert (
        5e-3 < dent < 10e-3
    )  # a rigid punch on a half-space would sink by 8 mm, a soft one by 10 at its centre
    assert mean < 0.6e-3
    assert largest < 3e-3
