namespace culprit {}  // namespace culprit
