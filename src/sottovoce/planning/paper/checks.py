"""What the theorems require of their parameters, and how a mistake is reported."""

from sottovoce.errors import BadParameter

_LARGEST = 1e30  # beyond that its powers in the theorems overflow; no real readings are this large
_MOST_PARTICIPANTS = 10**12
_SMALLEST_CHANCE = 1e-300
_POSITIVE = {
    "error_rate": ("a rate (λ1) must be a positive number", "1 is typical"),
    "noise_rate": ("a rate (λ2) must be a positive number", "0.5 is typical"),
    "rate": ("a rate (λ2) must be a positive number", "0.5 is typical"),
    "level": ("a noise level (c = λ1/λ2) must be a positive number", "1 adds as much noise as there is error"),
    "alpha": ("an error (α) must be a positive number", "give it in the unit of the readings"),
    "epsilon": ("ε must be a positive number", "1 is typical"),
    "distance": ("a distance (Δ) must be a positive number", "give the width of the range of a reading"),
    "b": ("b counts standard deviations and must be a positive number", "3 is typical"),
}
_FRACTIONS = {
    "beta": ("a chance (β) must be above 0 and below 1", "0.05 is typical"),
    "delta": ("δ must be above 0 and below 1", "1e-5 is typical"),
    "eta": ("a share of the users (η) must be above 0 and below 1", "0.95 is typical"),
}


def check(**parameters: float) -> None:
    """Refuse an invalid parameter; its name determines the rule."""
    for name, number in parameters.items():
        if name == "participants":
            valid = 2 <= number <= _MOST_PARTICIPANTS and number == int(number)
            rule = "at least two users (S) are needed to form pairs"
            fix = f"give a whole number from 2 to {_MOST_PARTICIPANTS:,}"
        elif name in _FRACTIONS:
            valid = _SMALLEST_CHANCE <= number < 1
            rule, fix = _FRACTIONS[name]
        else:
            valid = 1 / _LARGEST <= number <= _LARGEST
            rule, fix = _POSITIVE[name]
            rule += f", from {1 / _LARGEST:g} to {_LARGEST:g}"
        if not valid:
            raise BadParameter(f"{name}={number}: {rule}; {fix}")
