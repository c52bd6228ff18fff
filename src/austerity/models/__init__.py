"""What a row says about the parameters: one file a family."""

from .linear import Linear
from .logistic import Logistic
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .poisson import Poisson
from .probit import Probit
from .student_t import StudentT
from .variable_selection import VariableSelection

__all__ = ["Linear", "Logistic", "Multinomial", "NegativeBinomial", "Poisson", "Probit", "StudentT"]
__all__ += ["VariableSelection"]
