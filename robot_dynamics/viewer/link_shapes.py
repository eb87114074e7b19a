"""Shapes of the links of a robot: coloured triangles in the frame of their link.

Meshes are found by `package://`, `file://` and relative paths.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import trimesh

from robot_dynamics.errors import UrdfError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.numbers import number_from, words_of
from robot_dynamics.robot import Robot
from robot_dynamics.robot.urdf.document import Document, Element, open_document
from robot_dynamics.spatial import Inertia, Pose, rotation_from_rpy
from robot_dynamics.viewer.marks import Colour

GREY: Colour = (200, 203, 208)
STAND_IN: Colour = (150, 160, 190)

DENSITY = 1500.0
"""Density of a stand-in whose inertia gives no size, kg/m^3: between plastic and aluminium."""

logger = logging.getLogger(__name__)


class Shape(NamedTuple):
    """Triangles of one colour.

    Attributes:
        vertices: Shape (v, 3), m, in the frame of the link.
        faces: Indices of vertices, shape (f, 3).
        colour: Red, green and blue, 0 to 255.
    """

    vertices: Array
    faces: Array
    colour: Colour


class LinkShapes(NamedTuple):
    """Shapes of every link by name: its visual, and an outline with few triangles."""

    visual: Mapping[str, list[Shape]]
    outline: Mapping[str, list[Shape]]


def link_shapes(robot: Robot, source: str | os.PathLike[str]) -> LinkShapes:
    """Load the shapes of all links.

    The collision shapes of a link replace its missing or unreadable meshes; if it has none, an
    ellipsoid with its inertia does. One warning counts all such meshes.

    Args:
        robot: The robot.
        source: Path or text of its URDF.

    Raises:
        UrdfError: If the source is no URDF.
    """
    document = open_document(source)
    loader = _Loader(document, _folder(source))
    visual: dict[str, list[Shape]] = {}
    outline: dict[str, list[Shape]] = {}
    for element in document.root.findall("link"):
        name = element.get("name")
        looks, missing = loader.shapes(element, "visual")
        body, _ = loader.shapes(element, "collision")
        if missing and not looks:
            looks = body or stand_in(robot.links[robot.link_index(name)].inertia)
        visual[name], outline[name] = looks, body or looks
    if not any(visual.values()):  # a URDF of numbers alone
        visual = {link.name: stand_in(link.inertia) for link in robot.links}
        visual = {name: [*visual[name], *bone] for name, bone in _bones(robot).items()}
        outline = visual
    loader.warn()
    return LinkShapes(visual, outline)


def outlines(source: str | os.PathLike[str]) -> dict[str, Array]:
    """Return the points of the collision shapes of every link, or else of its visual shapes.

    Args:
        source: Path or text of a URDF.

    Returns:
        Shape (v, 3) by link, m, in its frame; links with missing meshes are left out.
    """
    document = open_document(source)
    loader = _Loader(document, _folder(source))
    points: dict[str, Array] = {}
    for element in document.root.findall("link"):
        shapes, missing = loader.shapes(element, "collision")
        if missing or not shapes:
            shapes, missing = loader.shapes(element, "visual")
        if shapes and not missing:
            points[element.get("name")] = np.concatenate([shape.vertices for shape in shapes])
    return points


def _folder(source: str | os.PathLike[str]) -> Path | None:
    text = isinstance(source, str) and source.lstrip().startswith("<")
    return None if text else Path(source).parent


def stand_in(body: Inertia) -> list[Shape]:
    """Return the solid ellipsoid with a link's inertia; a ball for an impossible inertia."""
    mass = float(body.mass)
    if mass <= 0.0:
        return []
    values, axes = np.linalg.eigh(np.asarray(body.about_com, dtype=np.float64))
    # I_x = m (b^2 + c^2) / 5, and cyclically
    squares = 2.5 / mass * (values.sum() - 2.0 * values)
    ball = (3.0 * mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
    radii = np.sqrt(np.where(squares > 1e-8, squares, 0.0))
    radii = np.where((radii > 1e-3) & (radii < 20.0 * ball), radii, ball)
    mesh = trimesh.creation.icosphere(subdivisions=2)
    if np.linalg.det(axes) < 0.0:
        axes = axes * [1.0, 1.0, -1.0]
    return [Shape((mesh.vertices * radii) @ axes.T + body.com, mesh.faces, STAND_IN)]


def _bones(robot: Robot) -> dict[str, list[Shape]]:
    """Return rods from the frame of every link to those of its children."""
    bones: dict[str, list[Shape]] = {link.name: [] for link in robot.links}
    for joint in robot.joints:
        p = np.asarray(joint.origin.translation, dtype=np.float64)
        if np.linalg.norm(p) > 1e-3:
            rod = trimesh.creation.cylinder(radius=0.02, segment=[np.zeros(3), p], sections=16)
            bones[joint.parent].append(Shape(rod.vertices, rod.faces, GREY))
        hub = trimesh.creation.icosphere(subdivisions=2, radius=0.035)
        bones[joint.child].append(Shape(hub.vertices, hub.faces, STAND_IN))
    return bones


class _Loader:
    """Reads <visual> and <collision> elements, and remembers what is missing."""

    def __init__(self, document: Document, folder: Path | None) -> None:
        self._document = document
        self._folder = folder
        self._missing: list[str] = []
        self._materials = {
            material.get("name"): colour
            for material in document.root.findall("material")
            if (colour := _colour(material)) is not None
        }

    def shapes(self, link: Element, tag: str) -> tuple[list[Shape], bool]:
        """Return the shapes of one link, and whether any of them is missing."""
        shapes: list[Shape] = []
        missing = False
        for element in link.findall(tag):
            try:
                shapes.extend(self._shape(element))
            except _MissingMeshError as error:
                missing = True
                if tag == "visual":
                    self._missing.append(str(error))
        return shapes, missing

    def warn(self) -> None:
        """Warn about missing meshes, once."""
        if self._missing:
            logger.warning(
                "%s: %d meshes are replaced by stand-ins, the first because %s",
                self._document.name,
                len(self._missing),
                self._missing[0],
            )

    def _shape(self, element: Element) -> Iterator[Shape]:
        X = _pose(self._document, element.find("origin"))
        colour = self._material(element.find("material"))
        for vertices, faces, own in self._triangles(element):
            yield Shape(vertices @ X.rotation.T + X.translation, faces, colour or own or GREY)

    def _material(self, element: Element | None) -> Colour | None:
        if element is None:
            return None
        return _colour(element) or self._materials.get(element.get("name"))

    def _triangles(self, element: Element) -> Iterator[tuple[Array, Array, Colour | None]]:
        geometry = next(iter(element.findall("geometry/*")), None)
        if geometry is None:
            return
        if geometry.tag == "mesh":
            yield from self._mesh(geometry)
            return
        numbers = {key: _floats(self._document, geometry, key) for key in geometry.attrib}
        try:
            if geometry.tag == "box":
                solid = trimesh.creation.box(extents=numbers["size"])
            elif geometry.tag == "sphere":
                solid = trimesh.creation.icosphere(radius=numbers["radius"][0])
            elif geometry.tag == "cylinder":
                solid = trimesh.creation.cylinder(numbers["radius"][0], numbers["length"][0])
            elif geometry.tag == "capsule":
                solid = trimesh.creation.capsule(numbers["length"][0], numbers["radius"][0])
            else:
                raise _MissingMeshError(f"<{geometry.tag}> is no shape of a URDF")
        except KeyError as error:
            raise self._document.error(geometry, f"<{geometry.tag}> has no {error}") from None
        yield solid.vertices, solid.faces, None

    def _mesh(self, geometry: Element) -> Iterator[tuple[Array, Array, Colour | None]]:
        uri = geometry.get("filename", "")
        path = mesh_path(uri, self._folder)
        if path is None:
            raise _MissingMeshError(f"{uri} is nowhere; source its workspace or correct the path")
        scale = _floats(self._document, geometry, "scale") if geometry.get("scale") else [1.0]
        try:
            parts = trimesh.load_scene(path).dump()
        except Exception as error:  # readers of a dozen formats raise anything
            raise _MissingMeshError(f"{path} cannot be read ({_reason(path, error)})") from None
        for part in parts:
            if isinstance(part, trimesh.Trimesh) and len(part.faces):
                yield np.asarray(part.vertices) * scale, np.asarray(part.faces), _own_colour(part)


class _MissingMeshError(Exception):
    """A missing or unreadable mesh."""


def _reason(path: Path, error: Exception) -> str:
    if path.suffix.lower() == ".dae" and "collada" in str(error).lower():
        return "pip install pycollada"
    return " ".join(str(error).split())[:120] or type(error).__name__


def _own_colour(part: Any) -> Colour | None:
    """Return the colour of a mesh in its file; None for the default of the reader."""
    material = getattr(part.visual, "material", None)
    if material is None:
        return None
    red, green, blue = (int(x) for x in np.asarray(material.main_color)[:3])
    return (red, green, blue)


def _colour(material: Element) -> Colour | None:
    element = material.find("color")
    if element is None or not element.get("rgba"):
        return None
    try:
        red, green, blue = (number_from(x) for x in words_of(element.get("rgba"))[:3])
    except ValueError:
        return None
    return (round(255 * red), round(255 * green), round(255 * blue))


def _floats(document: Document, element: Element, key: str) -> list[float]:
    try:
        return [number_from(x) for x in words_of(element.get(key))]
    except ValueError:
        problem = f"{key} '{element.get(key)}' is not numbers"
        raise document.error(element, problem) from None


def _pose(document: Document, origin: Element | None) -> Pose:
    if origin is None:
        return Pose.identity()
    values = {key: _floats(document, origin, key) for key in ("rpy", "xyz") if origin.get(key)}
    rpy, xyz = (np.array(values.get(key, [0.0] * 3)) for key in ("rpy", "xyz"))
    if rpy.shape != (3,) or xyz.shape != (3,):
        raise UrdfError(f"{document.name}:{origin.sourceline}: <origin> needs three numbers each")
    return Pose(rotation_from_rpy(rpy), xyz)


PACKAGE_SCHEMES = ("package://", "model://")


def mesh_path(uri: str, folder: Path | None = None) -> Path | None:
    """Find the file of a mesh; nothing is fetched.

    Args:
        uri: Attribute `filename` of a <mesh>.
        folder: Folder of the URDF, or None for a URDF given as text.

    Returns:
        The file, or None if there is none.
    """
    for scheme in PACKAGE_SCHEMES:
        if uri.startswith(scheme):
            package, _, rest = unquote(uri[len(scheme) :]).partition("/")
            return _first_file(share / rest for share in _shares(package, folder))
    path = Path(unquote(uri.removeprefix("file://")))
    return _first_file([path] if folder is None else [folder / path])


def _first_file(paths: Iterator[Path] | list[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _shares(package: str, folder: Path | None) -> Iterator[Path]:
    """Return candidate folders of a package: those of ROS in its order, then near the URDF."""
    for prefix in _entries("AMENT_PREFIX_PATH"):
        yield prefix / "share" / package
    for entry in _entries("ROS_PACKAGE_PATH"):
        yield entry / package
        if entry.name == package:
            yield entry
    if folder is not None:
        for parent in (folder.resolve(), *folder.resolve().parents):
            yield parent / package
            if parent.name == package:
                yield parent
    for prefix in (*(Path(entry) / "cmeel.prefix" for entry in sys.path), Path(sys.prefix)):
        yield prefix / "share" / package


def _entries(variable: str) -> list[Path]:
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]
