extension [SettingsProblem] {
    /// The problems sorted by the source of their values, then by key.
    var inOrderOfSources: [SettingsProblem] {
        sorted { left, right in
            let (first, second) = (left.source.order, right.source.order)
            return first == second ? left.key < right.key : first < second
        }
    }
}

extension SettingsSource {
    /// File lines first, in their order, then variables, flags and unset keys.
    fileprivate var order: (Int, Int, String) {
        switch self {
        case .file(let path, let line): (0, line, path)
        case .variable(let name): (1, 0, name)
        case .flag(let name): (2, 0, name)
        case .standard: (3, 0, "")
        }
    }
}
