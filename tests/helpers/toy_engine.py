"""A complete engine: partitions from the last to the first, the aggregate through pickle each time."""

import pickle

from bochner.blocks.engine import Engine, Folded


class BackwardEngine(Engine):
    """What an engine on other machines would do, in the most awkward order."""

    def __init__(self):
        self.sizes = {}  # of the aggregates that came by, in bytes

    def fold(self, blocks, aggregate, plan, missing, begun):
        for number in reversed(missing):
            partition, partial = plan[number], None
            for block in blocks.ahead(partition.start, partition.stop, plan.rows):
                message = pickle.dumps(aggregate)
                self.sizes[aggregate.name] = max(len(message), self.sizes.get(aggregate.name, 0))
                partial = pickle.loads(message).step(partial, block)
            yield Folded(number, partition.stop, partial, True)
