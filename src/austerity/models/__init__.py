"""What a row says about the parameters: one file a family."""

from .amari import amari_distance
from .density import Gaussian, GaussianMixture
from .gaussian_mean import GaussianMean
from .ica import ICA
from .linear import Linear
from .logistic import Logistic
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .poisson import Poisson
from .probit import Probit
from .robust import LAD, Huber, Quantile
from .student_t import StudentT
from .variable_selection import VariableSelection

__all__ = ["Linear", "Logistic", "Multinomial", "NegativeBinomial", "Poisson", "Probit", "StudentT"]
__all__ += ["LAD", "Quantile", "Huber", "Gaussian", "GaussianMean", "GaussianMixture", "ICA", "amari_distance"]
__all__ += ["VariableSelection"]
