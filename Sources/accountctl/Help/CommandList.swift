import ArgumentParser

/// The commands under the root, in the order the help shows them: that in which somebody first needs them.
///
/// A new command is one line here and one file of its own.
enum CommandList {
    static let running: [any ParsableCommand.Type] = [
        KeysCommand.self,
        ConfigCommand.self,
        MigrateCommand.self,
        DoctorCommand.self,
        WorkerCommand.self,
        ServeCommand.self,
        JobsCommand.self,
        AppleCommand.self,
    ]

    static let accounts: [any ParsableCommand.Type] = [
        UserCommand.self,
        DeletionCommand.self,
        AvatarsCommand.self,
        RelayCommand.self,
        AuditCommand.self,
    ]

    static let help: [any ParsableCommand.Type] = [
        CompletionCommand.self,
        ManualCommand.self,
    ]
}
