"""Tables as text."""

from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics.foundation.text_tables import TextTable


def table():
    found = TextTable("efforts", ["joint", "type"], ["peak effort", "limit"])
    found.add_row("shoulder_pan", "revolute, with a brake", "12.5", "150 N m")
    found.add_row("wrist", "revolute", "3", "9 N m")
    return found


def test_columns_of_text_are_at_the_left_and_numbers_at_the_right():
    assert str(table()) == (
        "efforts\n"
        "joint         type                    peak effort    limit\n"
        "------------  ----------------------  -----------  -------\n"
        "shoulder_pan  revolute, with a brake         12.5  150 N m\n"
        "wrist         revolute                          3    9 N m"
    )


def test_a_table_that_is_too_wide_breaks_its_headings_first_then_text():
    assert table().lines(55).splitlines()[:2] == [
        "                                          peak",
        "joint         type                      effort    limit",
    ]
    assert table().lines(48).splitlines() == [
        "                                   peak",
        "joint         type               effort    limit",
        "------------  ---------------  --------  -------",
        "shoulder_pan  revolute, with       12.5  150 N m",
        "              a brake",
        "wrist         revolute                3    9 N m",
    ]


def test_a_table_that_no_break_fits_goes_on_below_with_its_first_column():
    assert table().lines(36).splitlines() == [
        "joint         type",
        "------------  ----------------------",
        "shoulder_pan  revolute, with a brake",
        "wrist         revolute",
        "",
        "                  peak",
        "joint           effort    limit",
        "------------  --------  -------",
        "shoulder_pan      12.5  150 N m",
        "wrist                3    9 N m",
    ]


def test_a_heading_breaks_behind_underscores():
    found = TextTable(None, ["x"], ["shoulder_pan_joint"])
    found.add_row("a", "1.25")
    assert found.lines(12).splitlines()[:3] == ["   shoulder_", "        pan_", "x      joint"]


def test_terminal_codes_in_names_are_shown():
    found = TextTable(None, ["joint"])
    found.add_row("red\x1b[31m\nelbow")
    assert "\x1b" not in str(found) and r"red\x1b[31m\nelbow" in str(found)


WORDS = st.text("ab_ ", max_size=12)


@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), max_size=4),
    st.tuples(WORDS, WORDS, WORDS, WORDS),
    st.integers(30, 90),
)
def test_every_word_is_there_and_no_line_is_wider_than_asked(rows, headings, width):
    found = TextTable(None, headings[:2], headings[2:])
    for row in rows:
        found.add_row(*row)
    text = found.lines(width)
    assert max(map(len, text.split("\n"))) <= width  # two columns of 12 and their gap fit into 30
    for row in rows:
        assert all(word in text.split() for cell in row for word in cell.split())
