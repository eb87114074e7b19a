"""An arm whose names mean something to every language that an export writes."""

from xml.sax.saxutils import quoteattr

HOSTILE = (
    *('a"b */ int x; /*\\', "a b", "a-b", "größe\nzwei", "class", "; touch x\n`touch x` $HOME ??/"),
    *("]]>--><b/></robot>&amp;%s@package@", "''': - # }//\\"),
)
"""Names of joints; the second and the third have the same letters."""


def hostile_urdf():
    """An arm of prismatic joints, whose equations are short, with hostile names everywhere."""

    def quoted(name):
        return quoteattr(name, {"\n": "&#10;"})

    lines = [f"<robot name={quoted('*/ x; ??/ --> `touch x`')}>", f"<link name={quoted('a')}/>"]
    for k, name in enumerate(HOSTILE):
        parent = "a" if k == 0 else f"{HOSTILE[k - 1]} link"
        lines.append(
            f"""<link name={quoted(f"{name} link")}><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name={quoted(name)} type="prismatic"><parent link={quoted(parent)}/>
<child link={quoted(f"{name} link")}/><axis xyz="{k % 2} 0 1"/>
<limit lower="-1" upper="1" velocity="2" effort="90"/><dynamics friction="1"/></joint>"""
        )
    return "\n".join([*lines, "</robot>"])
