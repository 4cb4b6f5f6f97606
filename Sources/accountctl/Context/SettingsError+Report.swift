import Settings

extension SettingsError: ReportableError {
    var report: CommandError {
        CommandError(.usage, description, hint: "Check them: accountctl config check")
    }
}
