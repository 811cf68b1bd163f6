"""The tab on which a digit is drawn and read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myosotis.demo.drawing import ink_of, mnist_image
from myosotis.demo.markup import message, picture
from myosotis.demo.pictures import describe_step, num_steps, show_decision, show_levels
from myosotis.demo.reader import DigitReader
from myosotis.errors import DataError

__all__ = ["TAKE_PEN", "DigitAnswers", "add_digit_tab"]

Image = NDArray[np.uint8]

_QUIET: dict[str, Any] = {"show_progress": "hidden"}
_LIVE: dict[str, Any] = {**_QUIET, "trigger_mode": "always_last"}
_CANVAS, _PEN_RADIUS = 280, 10  # pixels: a line is as wide as in MNIST if the digit fills the page
_DECISION = """### Where the decision came from
In the middle, ink × gradient of the answer's score, averaged over the way from a blank page to the
drawing: blue ink spoke for the answer, orange ink against it. On the right, how much a pixel weighs
at the root of the tree: rows of T⁻¹, the mean of the heads of all blocks on the pixels."""
_LEVELS = """### Messages go up, solutions come down
Each level of the quad-tree as an image, from the pixels to the root, for one head of one block.
Each is shaded up to its own largest value."""

# Gradio's sketch pad comes up without a tool in hand, some time after the page.
TAKE_PEN = """() => {
  const waiting = setInterval(() => {
    const pen = document.querySelector("#sketch button[aria-label=Brush]");
    if (pen) { clearInterval(waiting); pen.click(); }
  }, 100);
}"""


@dataclass(frozen=True, eq=False)
class DigitAnswers:
    """What the tab shows for what is drawn and chosen on it.

    Attributes:
        reader: the model.

    Example:
        >>> from myosotis import Tree
        >>> from myosotis.nn import Classifier, ClassifierConfig
        >>> config = ClassifierConfig(10, Tree.quadtree(32), channels=1, dim=8, depth=1, heads=2)
        >>> answers = DigitAnswers(DigitReader(Classifier(config).eval()))
        >>> picture = np.zeros((280, 280, 4), dtype=np.uint8)
        >>> answers.read({"composite": picture})
        (None, {}, '<div class="message" role="status">nothing is drawn yet: draw a digit</div>')
        >>> picture[50:200, 130:150, 3] = 255
        >>> image, probabilities, note = answers.read({"composite": picture})
        >>> len(probabilities), answers.explain(image)[:21]
        (10, '<div class="picture">')
        >>> answers.step_through(image, block=1, head=2, step=12)[:21]
        '<div class="picture">'
    """

    reader: DigitReader

    def read(self, drawn: dict[str, Any] | None) -> tuple[Image | None, dict[str, float], str]:
        """Recognise a digit.

        Args:
            drawn: what Gradio's sketch pad holds: its `composite` is uint8 (height, width, 4).

        Returns:
            The image as the model sees it, the probability of each digit, and a note; without a
            drawing None and no probabilities.
        """
        composite = None if drawn is None else drawn["composite"]
        paper = np.zeros((_CANVAS, _CANVAS, 4), dtype=np.uint8)
        try:
            image = mnist_image(ink_of(paper if composite is None else composite))
        except DataError as error:
            return None, {}, message(str(error))
        found = self.reader.probabilities(image)
        probabilities = {str(digit): float(share) for digit, share in enumerate(found)}
        digit = int(found.argmax())
        return image, probabilities, message(f"This is a {digit}, I think: {found[digit]:.1%}.")

    def explain(self, image: Image | None) -> str:
        """Show where the decision came from; nothing without a drawing."""
        if image is None:
            return ""
        digit = int(self.reader.probabilities(image).argmax())
        contributions = self.reader.contributions(image, digit)
        weights = self.reader.weights_at_root(image)
        figure = show_decision(image, contributions, weights, digit)
        return picture(figure, f"what spoke for and against a {digit}")

    def step_through(self, image: Image | None, block: int, head: int, step: int) -> str:
        """Show a step of the sweeps, all counted from 1; nothing without a drawing."""
        if image is None:
            return ""
        sweeps = self.reader.sweeps(image, block - 1, head - 1)
        return picture(show_levels(sweeps, int(step)), describe_step(sweeps, int(step)))


def add_digit_tab(reader: DigitReader) -> None:
    """Add the tab to the page that is being built."""
    import gradio as gr

    answers = DigitAnswers(reader)
    layers, steps = reader.layers, num_steps(reader.tree)
    nothing, _, hint = answers.read(None)
    image = gr.State(nothing)
    with gr.Row():
        with gr.Column(min_width=320):
            sketch = gr.Sketchpad(
                label="Draw a digit",
                canvas_size=(_CANVAS, _CANVAS),
                fixed_canvas=True,
                height=420,
                brush=gr.Brush(_PEN_RADIUS, colors=["#000000"], color_mode="fixed"),
                layers=False,
                transforms=(),
                buttons=[],
                elem_id="sketch",
            )
        with gr.Column(min_width=320):
            note = gr.HTML(hint, elem_id="note")
            label = gr.Label(label="Probabilities", num_top_classes=10, elem_id="probabilities")
    gr.Markdown(_DECISION)
    decision = gr.HTML(elem_id="decision")
    gr.Markdown(_LEVELS)
    with gr.Row():
        block = gr.Dropdown(list(range(1, len(layers) + 1)), value=1, label="Block", min_width=100)
        heads, _, _ = layers[0].channels
        head = gr.Dropdown(list(range(1, heads + 1)), value=1, label="Head", min_width=100)
        step = gr.Slider(1, steps, value=steps, step=1, label="Step", scale=3, elem_id="step")
    levels = gr.HTML(elem_id="levels")
    chosen = [image, block, head, step]
    drawn = sketch.change(answers.read, sketch, [image, label, note], **_LIVE)
    drawn.then(answers.step_through, chosen, levels, **_QUIET).then(
        answers.explain, image, decision, **_QUIET
    )
    for control in (block, head, step):
        control.change(answers.step_through, chosen, levels, **_LIVE)
