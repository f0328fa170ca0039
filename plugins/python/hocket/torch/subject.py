"""What hocket can change in a model: its subjects.

A subject has
    module          whose forward pass begins an iteration
    hook_options    of register_forward_pre_hook, so that apply() comes early enough
    knobs           hocket.Knob of each, equal on all ranks
    accept(values)  why this rank cannot run with the values, by the knobs' names, or None
    apply(values)   puts the values into force; called on all ranks before the same forward pass
    undo()          leaves the model as it was, as far as nothing has been trained yet
    ended()         why it cannot be changed any more, or None; on all ranks at the same step
and, where they differ from those of Subject,
    note            what else to say of the first values, or ""
    why_fixed       why no knob changes while the job trains, or None
    may_lessen      whether rest() may return something
    rest()          the subject of what can still be changed, once some of the knobs have no effect
                    any more, on all ranks at the same step; None while all have one
    is_in_force()   whether the last iteration ran with the values that were applied
"""


class Subject:
    note = ""
    why_fixed = None
    may_lessen = False

    def rest(self):
        return None

    def is_in_force(self):
        return True


class LeftAlone(Exception):
    """Why a model is left as it is. `is_known`: another rank tells the user."""

    def __init__(self, reason, is_known=False):
        super().__init__(reason)
        self.is_known = is_known
