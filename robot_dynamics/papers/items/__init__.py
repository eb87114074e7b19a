"""Tables, numbers and figures of the publications, each reproduced: the printed value beside ours.

A module for each publication; `publication` imports one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from robot_dynamics.errors import check_known
from robot_dynamics.papers.items.item import Publication

PUBLICATIONS: Mapping[str, str] = {
    "gupta": "[Gupta1986] Gupta: zero reference position",
    "lee": "[Lee1982] Lee, Lee and Nigam: generalized d'Alembert equations",
    "asada-slotine": "[AsadaSlotine1986] Asada and Slotine: Robot Analysis and Control, 2 to 5",
    "kane": "[Angeles1989] Angeles, Ma and Rojas: Kane's equations",
    "renaud": "[Renaud1987] Renaud: augmented bodies",
}
"""Title of every publication by its name."""


def publication(name: str) -> Publication:
    """Return the items of a publication.

    Args:
        name: One of `PUBLICATIONS`.

    Raises:
        UnknownNameError: If there is no such publication.
    """
    check_known("publication", name, "the publications", PUBLICATIONS)
    module = import_module(f"robot_dynamics.papers.items.{name.replace('-', '_')}")
    return Publication(PUBLICATIONS[name], {item.name: item for item in module.ITEMS})
