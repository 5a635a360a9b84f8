import numpy as np
import pytest

from wattslice_models.communication import Exchange, Network, Pattern, busiest_node, communication_time_s

TWO = np.array([2.0])


@pytest.mark.parametrize(
    ("pattern", "received", "sent", "messages"),
    [
        (Pattern.INBOUND, 400, 0, 1),
        (Pattern.OUTBOUND, 0, 400, 1),
        (Pattern.ALL_TO_ALL, 200, 200, 2),  # each of two nodes keeps half of its 400
        (Pattern.ONE_TO_ALL, 0, 400, 1),
        (Pattern.ALL_TO_ONE, 400, 0, 1),
        (Pattern.BROADCAST, 0, 800, 1),
    ],
)
def test_two_nodes_by_hand(pattern, received, sent, messages):
    traffic = busiest_node(Exchange(pattern, 800), TWO)
    assert (traffic.received_bytes, traffic.sent_bytes, traffic.messages) == (received, sent, messages)


def test_a_halo_is_the_faces_that_a_node_inside_exchanges():
    # A cube of 1 x 1 x 1 with faces of 1 byte: six of them are its surface.
    nodes = np.array([1.0, 64.0])
    slabs, pencils, cubes = (
        busiest_node(Exchange(Pattern.HALO, 6, dimensions=axes), nodes).sent_bytes.tolist()
        for axes in (1, 2, 3)
    )
    assert slabs == [0, pytest.approx(2)]  # 1/64 x 1 x 1: two faces of 1 x 1
    assert pencils == [0, pytest.approx(4 * 1 / 8)]  # 1/8 x 1/8 x 1: four faces of 1/8 x 1
    assert cubes == [0, pytest.approx(6 / 4**2)]  # 1/4 x 1/4 x 1/4: six faces of 1/4 x 1/4


def test_one_node_alone_exchanges_only_what_enters_and_leaves():
    for pattern in Pattern:
        traffic = busiest_node(Exchange(pattern, 800), np.array([1.0]))
        alone = (traffic.received_bytes + traffic.sent_bytes, traffic.messages)
        assert alone == ((800, 1) if pattern in (Pattern.INBOUND, Pattern.OUTBOUND) else (0, 0)), pattern


def test_time_is_the_papers_without_latency():
    # T_comm = T_single (Q_in + Q_out) iters
    network = Network(latency_s=0, bandwidth_bytes_per_s=100)
    time_s = communication_time_s([Exchange(Pattern.ALL_TO_ALL, 800, count=5)], network, TWO)
    assert time_s == pytest.approx((1 / 100) * (200 + 200) * 5)


def test_every_message_costs_its_latency():
    network = Network(latency_s=0.5, bandwidth_bytes_per_s=float("inf"))
    exchanges = [Exchange(Pattern.ALL_TO_ALL, 800), Exchange(Pattern.HALO, 1, count=3, dimensions=1)]
    assert communication_time_s(exchanges, network, TWO) == pytest.approx(0.5 * (2 + 3 * 4))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Network(-1, 1),
        lambda: Network(float("nan"), 1),
        lambda: Network(0, 0),
        lambda: Exchange(Pattern.HALO, -1),
        lambda: Exchange(Pattern.HALO, 1, dimensions=4),
        lambda: Exchange(Pattern.HALO, 1, count=float("nan")),
    ],
)
def test_impossible_figures_are_refused(make):
    with pytest.raises(ValueError, match="must be"):
        make()
