"""What a pair costs, as small frozen records; each names its pair sum."""

from pairrank.losses.hinge import Hinge as Hinge
from pairrank.losses.hinge import SquaredHinge as SquaredHinge
from pairrank.losses.sigmoids import Logistic as Logistic
from pairrank.losses.sigmoids import Probit as Probit
from pairrank.losses.sigmoids import Raykar as Raykar
from pairrank.losses.square import Square as Square
from pairrank.losses.tube import Tube as Tube
