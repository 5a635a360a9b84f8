"""From a workflow.toml to a `Workflow`, checked: every error names the file, the key and what to do."""

from __future__ import annotations

from pathlib import Path

from wattslice.documents import Table, Value, parse_toml
from wattslice.frontend.inputs import file_bytes
from wattslice.projection.components import read_components
from wattslice.projection.fields import (
    maybe_positive,
    not_negative,
    one_of,
    positive,
    truth,
)
from wattslice.projection.node_kinds import read_node_kinds
from wattslice.projection.workflow import Workflow, WorkflowError
from wattslice_models.communication import Network
from wattslice_models.pareto import Limits, Objective

_WAITING = ("idle", "busy")


def read_workflow(path: Path) -> Workflow:
    """Read and check the file. Raises `WorkflowError`."""
    try:
        document = parse_toml(file_bytes(path))
    except OSError as error:
        raise WorkflowError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise WorkflowError("is no text in UTF-8", path=path) from None
    except ValueError as error:
        raise WorkflowError(f"not valid TOML: {error}", path=path) from None
    root = Value(WorkflowError, path, "", document).table()
    root.only("workflow", "network", "nodes", "components")
    about = root.value("workflow").table() if "workflow" in root else _empty(root, "workflow")
    about.only(
        "name",
        "steps",
        "overlap",
        "share_nodes",
        "objective",
        "deadline_s",
        "energy_budget_j",
        "power_budget_w",
    )
    network = root.value("network").table() if "network" in root else _empty(root, "network")
    network.only("latency_s", "bandwidth_bytes_per_s", "overlap", "waiting")
    nodes = read_node_kinds(root)
    components = read_components(root, nodes)
    if "network" not in root:
        for component in components:
            if component.exchanges:
                raise WorkflowError(
                    f"{component.place}.communication: there is no network to communicate over",
                    path=path,
                    remedy="add [network] with latency_s and bandwidth_bytes_per_s",
                )
    objective = about.optional("objective")
    waiting = network.optional("waiting")
    return Workflow(
        path=path,
        name=about.value("name").text() if "name" in about else path.stem,
        steps=about.value("steps").whole(1, 10**12) if "steps" in about else 1,
        nodes=nodes,
        components=components,
        overlap=truth(about, "overlap", False),
        share_nodes=truth(about, "share_nodes", True),
        objective=(
            Objective.ENERGY
            if objective is None
            else Objective(one_of(objective, list(Objective), "objective"))
        ),
        limits=Limits(
            deadline_s=maybe_positive(about, "deadline_s"),
            energy_budget_j=maybe_positive(about, "energy_budget_j"),
            power_budget_w=maybe_positive(about, "power_budget_w"),
        ),
        network=_network(network) if "network" in root else None,
        hides_communication=truth(network, "overlap", False),
        waits_busy=waiting is not None and one_of(waiting, _WAITING, "way to wait") == "busy",
    )


def _empty(root: Table, key: str) -> Table:
    return root.itself.inside(key, {}).table()


def _network(table: Table) -> Network:
    return Network(
        latency_s=not_negative(table.value("latency_s")),
        bandwidth_bytes_per_s=positive(table.value("bandwidth_bytes_per_s")),
    )
