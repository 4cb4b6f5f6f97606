extension [SettingsProblem] {
    /// Sorted by where the values stand, and then by key.
    var inOrderOfSources: [SettingsProblem] {
        sorted { left, right in
            let (first, second) = (left.source.order, right.source.order)
            return first == second ? left.key < right.key : first < second
        }
    }
}

extension SettingsSource {
    /// File lines in their order first, then variables, flags and what was not set.
    fileprivate var order: (Int, Int, String) {
        switch self {
        case .file(let path, let line): (0, line, path)
        case .variable(let name): (1, 0, name)
        case .flag(let name): (2, 0, name)
        case .standard: (3, 0, "")
        }
    }
}
