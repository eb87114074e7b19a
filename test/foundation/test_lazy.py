"""Modules that are loaded when they are first used."""

import subprocess
import sys


def test_other_packages_find_a_postponed_module_in_its_package():
    """Reading a URDF postpones `xml.dom.minidom`, which xacro takes from `xml.dom`."""
    code = (
        "from robot_dynamics.foundation.lazy import postpone\n"
        "postpone('xml.dom.minidom')\n"
        "import xml.dom.minidom\n"
        "print(xml.dom.minidom.parseString('<a/>').documentElement.tagName)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "a\n"
