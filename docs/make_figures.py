"""Draw the worked examples of the publications into docs/figures, and write their page.

Run it as `python docs/make_figures.py`.
"""

from pathlib import Path

from robot_dynamics.papers.figures.worked_examples import write_worked_examples

if __name__ == "__main__":
    write_worked_examples(Path(__file__).parent, print)
