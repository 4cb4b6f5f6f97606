/// The settings of all parts, read and checked together.
package struct Settings: Sendable {
    /// The name of the environment; nil if none was chosen.
    package let environmentName: String?
    package let environment: EnvironmentSettings
    package let database: DatabaseSettings
    package let worker: WorkerSettings
    package let deletion: DeletionSettings
    package let apple: AppleSettings
    package let storage: StorageSettings
    package let supabase: SupabaseSettings
    package let keys: KeySettings
    package let mail: MailSettings
    package let listeners: ListenerSettings
    package let log: LogSettings
    /// Every key with its effective value and the source of that value.
    package let declarations: [SettingsReader.Declaration]
    /// The files that secrets were read from, by key; those of sealing and hash keys are in ``keys``.
    package let secretFiles: [(key: String, path: String)]

    /// Reads and checks all settings.
    ///
    /// - Throws: ``SettingsError`` with all problems, if any of them prevents a start.
    package init(_ inputs: SettingsInputs) throws {
        let (settings, problems) = Self.check(inputs)
        try SettingsError.check(problems)
        self = settings
    }

    /// Reads all settings and returns them with their problems, so that incomplete settings can be shown.
    package static func check(_ inputs: SettingsInputs) -> (settings: Settings, problems: [SettingsProblem]) {
        var reader = SettingsReader(inputs: inputs)
        let settings = Settings(&reader, environmentName: inputs.environment)
        return (settings, reader.finish())
    }

    /// The problems in the file's sections for other environments, judged by the keys and forms in the file alone.
    ///
    /// Files that those sections name are not read, since they may be on another machine.
    ///
    /// - Returns: the problems of values in those sections, in their order.
    package static func problemsElsewhere(_ inputs: SettingsInputs) -> [SettingsProblem] {
        inputs.elsewhere.flatMap { name, places, inputs in
            check(inputs).problems.filter { places.contains($0.source) }.map { problem in
                SettingsProblem(
                    key: "environments.\(name).\(problem.key)",
                    source: problem.source,
                    message: problem.message,
                    stopsNothing: problem.stopsNothing
                )
            }
        }
        .inOrderOfSources
    }

    private init(_ reader: inout SettingsReader, environmentName: String?) {
        self.environmentName = environmentName
        environment = EnvironmentSettings(&reader)
        database = DatabaseSettings(&reader)
        worker = WorkerSettings(&reader)
        deletion = DeletionSettings(&reader)
        apple = AppleSettings(&reader)
        storage = StorageSettings(&reader)
        supabase = SupabaseSettings(&reader)
        keys = KeySettings(&reader)
        mail = MailSettings(&reader)
        listeners = ListenerSettings(&reader)
        log = LogSettings(&reader)
        environment.checkName(of: database, &reader)
        storage.checkProject(of: database, &reader)
        worker.checkLease(against: ("storage.timeout", storage.timeout), &reader)
        // Two calls: a client id that Apple rejected is tested before it is used again.
        worker.checkLease(against: ("apple.timeout", apple.timeout * 2), &reader)
        declarations = reader.declarations
        secretFiles = reader.secretFiles
    }
}
