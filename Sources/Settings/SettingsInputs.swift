import Terminal

/// All sources of settings: flags override variables, which override the file's section for the environment, which
/// overrides the rest of the file.
package struct SettingsInputs: Sendable {
    /// The prefix of the variables that set keys.
    static let prefix = "ACCOUNTCTL_"

    /// The environment chosen by flag, variable or file; nil if none is.
    let environment: String?
    /// Whether the settings file knows the environment, by a section or as the name of the part outside of sections.
    let isEnvironmentKnown: Bool
    let problems: [SettingsProblem]
    /// Reads the file of a secret; nil if the contents of files are not checked.
    let readFile: (@Sendable (String) throws -> String)?
    private let file: SettingsFile?
    /// The values from the file and the flags, by key.
    let values: [String: RawSetting]
    /// The variables with the product's prefix, by name.
    let variables: [String: RawSetting]
    /// The variables that libpq uses where the connection string sets nothing.
    let connectionVariables: [String: String]

    /// Collects the inputs.
    ///
    /// - Parameters:
    ///   - file: the text and path of the settings file, if there is one.
    ///   - variables: the variables of the process.
    ///   - flags: the values from the command line, by key, with the flag's name.
    ///   - environment: the environment that the command line names.
    ///   - readFile: reads the file of a secret.
    package init(
        file: (text: String, path: String)?,
        variables: [String: String],
        flags: [String: (value: String, flag: String)] = [:],
        environment: String? = nil,
        readFile: @escaping @Sendable (String) throws -> String
    ) {
        self.init(file.map { SettingsFile(text: $0.text, path: $0.path) }, variables, flags, environment, readFile)
    }

    private init(
        _ parsed: SettingsFile?,
        _ variables: [String: String],
        _ flags: [String: (value: String, flag: String)],
        _ environment: String?,
        _ readFile: (@Sendable (String) throws -> String)?
    ) {
        // As in a file: a variable made from one, such as a Kubernetes secret, often ends with a line end.
        let variables = variables.mapValues { $0.trimmingEditorMarks() }
        file = parsed
        let own = parsed?.values["environment"]?.text
        let chosen =
            environment ?? variables["ACCOUNTCTL_ENVIRONMENT"].flatMap { $0.isEmpty ? nil : $0 } ?? own
        var problems = parsed?.problems ?? []
        var values: [String: RawSetting] = [:]
        var environments: Set<String> = []
        for (key, value) in parsed?.values ?? [:] where key != "environment" {
            if let name = Self.environment(of: key) {
                environments.insert(name)
            } else {
                values[key] = value
            }
        }
        if let chosen {
            for (key, value) in parsed?.values ?? [:] where Self.environment(of: key) == chosen {
                values[String(key.dropFirst("environments.\(chosen).".count))] = value
            }
            let saysProduction = values["production"] != nil || variables[Self.variable(of: "production")] != nil
            if let message = Self.problem(of: chosen, own, environments, saysProduction: saysProduction) {
                let source = Self.source(environment, variables, parsed)
                problems.append(SettingsProblem(key: "environment", source: source, message: message))
            }
        }
        for (key, flag) in flags { values[key] = RawSetting(text: flag.value, source: .flag(flag.flag)) }
        self.environment = chosen
        isEnvironmentKnown = chosen.map(Self.known(own, environments).contains) ?? true
        self.problems = problems
        self.readFile = readFile
        self.values = values
        connectionVariables = variables.filter { ["PGUSER", "PGHOST", "PGSERVICE"].contains($0.key) }
        self.variables = Dictionary(
            uniqueKeysWithValues: variables.filter { $0.key.hasPrefix(Self.prefix) }
                .map { ($0.key, RawSetting(text: $0.value, source: .variable($0.key))) }
        )
    }

    /// The environments that a file knows: its sections, and the part outside of them, which is the file's own
    /// environment or else production.
    private static func known(_ own: String?, _ sections: Set<String>) -> Set<String> {
        sections.union([own ?? "production"])
    }

    /// The problem with the name of the chosen environment, if any.
    private static func problem(
        of chosen: String,
        _ own: String?,
        _ sections: Set<String>,
        saysProduction: Bool
    ) -> String? {
        let known = known(own, sections)
        if known.contains(chosen) {
            guard mayMeanProduction(chosen), !saysProduction else { return nil }
            return "\"\(chosen)\" is not production: write environment = production, or set production = yes or no"
        }
        // If the file names no environment, any name is allowed.
        guard own != nil || !sections.isEmpty else { return nil }
        let near = NearestName.question(of: chosen, among: known)
        let outside = own.map { "; what is outside of sections is for \($0)" } ?? ""
        return "there is no section [environments.\(chosen)]" + (near.isEmpty ? outside : near)
    }

    /// Whether a name other than "production" may have been meant for it.
    private static func mayMeanProduction(_ name: String) -> Bool {
        name != "production" && (name.isEmpty || name.lowercased().hasPrefix("prod"))
    }

    /// The environment whose section contains a key of the file; nil outside of such sections.
    private static func environment(of key: String) -> String? {
        let parts = key.split(separator: ".", maxSplits: 2)
        return parts.count == 3 && parts[0] == "environments" ? String(parts[1]) : nil
    }

    /// The environments with sections in the file, except the chosen one: each as inputs from the file alone, with the
    /// sources of its own values.
    var elsewhere: [(name: String, places: Set<SettingsSource>, inputs: SettingsInputs)] {
        var places: [String: Set<SettingsSource>] = [:]
        for (key, value) in file?.values ?? [:] {
            if let name = Self.environment(of: key), name != environment {
                places[name, default: []].insert(value.source)
            }
        }
        return places.map { ($0, $1, SettingsInputs(file, [:], [:], $0, nil)) }
    }

    /// The names of the environments with sections in the file, except the chosen one.
    package var otherEnvironments: [String] { elsewhere.map(\.name).sorted() }

    /// The source of the environment's name.
    private static func source(_ flag: String?, _ variables: [String: String], _ file: SettingsFile?) -> SettingsSource
    {
        if flag != nil { return .flag("--environment") }
        if variables["ACCOUNTCTL_ENVIRONMENT"]?.isEmpty == false { return .variable("ACCOUNTCTL_ENVIRONMENT") }
        return file?.values["environment"]?.source ?? .standard
    }

    /// The variable that sets a key: `deletion.grace` is `ACCOUNTCTL_DELETION_GRACE`.
    package static func variable(of key: String) -> String {
        // By bytes: there are a hundred keys, and characters take ten times as long.
        guard key.utf8.allSatisfy({ $0 < 0x80 }) else {
            return prefix + String(key.uppercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
        }
        let bytes = key.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 0x20
            case UInt8(ascii: "."), UInt8(ascii: "-"): UInt8(ascii: "_")
            default: byte
            }
        }
        return prefix + String(decoding: bytes, as: UTF8.self)
    }

    func value(of key: String) -> RawSetting? {
        if let value = values[key], case .flag = value.source { return value }
        return (variables.isEmpty ? nil : variables[Self.variable(of: key)]) ?? values[key]
    }

    /// Whether the effective value of a key comes from the file's section for the chosen environment.
    func isFromSection(_ key: String) -> Bool {
        guard let environment, let own = file?.values["environments.\(environment).\(key)"] else { return false }
        return value(of: key)?.source == own.source
    }

    /// The names between a prefix and a key, sorted; names that only variables contain are in lower case.
    func names(under prefix: String, keys: [String]) -> [String] {
        var names: Set<String> = []
        for key in values.keys where key.hasPrefix(prefix + ".") {
            let parts = key.dropFirst(prefix.count + 1).split(separator: ".", maxSplits: 1)
            if parts.count == 2 { names.insert(String(parts[0])) }
        }
        let start = Self.variable(of: prefix) + "_"
        var known = Set(names.map { Self.variable(of: $0) })
        for variable in variables.keys.sorted() where variable.hasPrefix(start) {
            let rest = variable.dropFirst(start.count)
            for key in keys {
                let end = "_" + key.uppercased()
                guard rest.count > end.count, rest.hasSuffix(end) else { continue }
                let name = rest.dropLast(end.count).lowercased()
                if known.insert(Self.variable(of: name)).inserted { names.insert(name) }
                break
            }
        }
        return names.sorted()
    }
}
