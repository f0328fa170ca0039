"""Every order in which several parties may take their steps, for tests of what they must keep."""


def in_turn(taken, count):
    return taken % count


def every_sequence(run, most, then=in_turn):
    """Yields what run(choose) returns, for every sequence of choices of which the first `most` are
    varied. `choose(count)` returns the next choice, below count; later ones are then(taken, count).
    """
    prefix = []
    while True:
        taken, counts = [], []

        def choose(count, taken=taken, counts=counts, prefix=prefix):
            choice = prefix[len(taken)] if len(taken) < len(prefix) else 0
            if len(taken) >= most:
                choice = then(len(taken), count)
            taken.append(choice)
            counts.append(count)
            return choice
        yield run(choose)
        at = min(len(taken), most) - 1
        while at >= 0 and taken[at] + 1 >= counts[at]:
            at -= 1
        if at < 0:
            return
        prefix = taken[:at] + [taken[at] + 1]
