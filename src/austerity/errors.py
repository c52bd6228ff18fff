"""What can go wrong, each as one sentence: the value, the place, the remedy."""


class InputError(ValueError):
    """An argument, a table or a file that cannot be used; raised before any compute."""


class ModelError(InputError):
    """A user's likelihood that raised, returned a wrong shape or gave a value that is not finite."""


class StoreError(InputError):
    """A store on disk that cannot be read, written or resumed."""


class AusterityWarning(UserWarning):
    """Something the user should know, though the run goes on."""
