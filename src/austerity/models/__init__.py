"""What a row says about the parameters: one file a family."""

from .amari import amari_distance
from .ica import ICA
from .linear import Linear
from .logistic import Logistic
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .poisson import Poisson
from .probit import Probit
from .student_t import StudentT

__all__ = ["ICA", "Linear", "Logistic", "Multinomial", "NegativeBinomial", "Poisson", "Probit", "StudentT"]
__all__ += ["amari_distance"]
