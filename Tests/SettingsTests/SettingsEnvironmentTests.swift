import Sealing
import Settings
import SignInWithApple
import Testing

@Suite("The environment that settings are for")
struct SettingsEnvironmentTests {
    @Test("Settings outside sections belong to the file's own environment, or to production")
    func environmentOfTheFile() throws {
        let sections = "[environments.staging.deletion]\ngrace = 2h\n"
        let named = "environment = live\n[deletion]\ngrace = 3h\n" + sections
        #expect(try Settings(inputs(named)).deletion.grace == .seconds(10800))
        #expect(try Settings(inputs(named, environment: "live")).deletion.grace == .seconds(10800))
        #expect(try Settings(inputs(named, environment: "staging")).deletion.grace == .seconds(7200))
        #expect(throws: SettingsError.self) { try Settings(inputs(named, environment: "production")) }
        let production = try Settings(inputs(sections, variables: ["ACCOUNTCTL_ENVIRONMENT": "production"]))
        #expect(production.environment.isProduction)
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(sections, environment: "prodution")) }
        #expect(error?.description.contains("did you mean production?") == true)
    }

    @Test(
        "A name that may have been meant as production is not silently taken for another environment",
        arguments: ["Production", "PRODUCTION", "prod", "prodution", "", "# production"]
    )
    func nearlyProduction(_ name: String) {
        for (file, environment) in [
            ("environment = \(name)", nil), ("[environments.prod]\ndeletion.grace = 2h", "prod"),
        ] {
            let problems = Settings.check(inputs(file, environment: environment)).problems
            #expect(problems.map(\.key) == ["environment"])
            #expect(problems.allSatisfy { $0.leavesEnvironmentInDoubt && !$0.stopsNothing })
            #expect(problems.first?.message.contains("write environment = production") == true)
            let said = ["ACCOUNTCTL_PRODUCTION": "no"]
            #expect(Settings.check(inputs(file, variables: said, environment: environment)).problems.isEmpty)
        }
    }

    @Test(
        "Other names are accepted, and so is any name for which `production` is set",
        arguments: ["production", "live", "staging", "prod\nproduction = yes", "product-tests\nproduction = no"]
    )
    func clearEnvironment(_ lines: String) {
        #expect(Settings.check(inputs("environment = " + lines)).problems.isEmpty)
    }

    @Test("A file that names its environment is refused for another one that has no section")
    func otherEnvironment() throws {
        let file = "environment = production\n[deletion]\ngrace = 2h\n"
        let error = #expect(throws: SettingsError.self) { try Settings(inputs(file, environment: "staging")) }
        let problem = try #require(error?.problems.first)
        #expect(problem.message.contains("[environments.staging]") && problem.message.contains("is for production"))
        #expect(problem.leavesEnvironmentInDoubt)
        // If the file does not name its environment, any name may be chosen.
        #expect(try Settings(inputs("deletion.grace = 2h", environment: "staging")).environmentName == "staging")
    }

    @Test("A password in the file's connection string gives a warning and stops nothing")
    func passwordInTheFile() throws {
        for url in ["postgresql://u:SECRET@h/db", "host=h password=SECRET"] {
            let (settings, problems) = Settings.check(inputs("production = no\ndatabase.url = \(url)"))
            #expect(problems.map(\.key) == ["database.url"] && problems.map(\.stopsNothing) == [true])
            #expect(problems.first?.message.contains("database.password_file") == true)
            #expect(!"\(problems)".contains("SECRET"))
            #expect(settings.database.url == url)
            // Variables may contain secrets.
            let variables = ["ACCOUNTCTL_DATABASE_URL": url, "ACCOUNTCTL_PRODUCTION": "no"]
            #expect(Settings.check(inputs(variables: variables)).problems.isEmpty)
        }
        #expect(Settings.check(inputs("production = no\ndatabase.url = postgresql://u@h/db")).problems.isEmpty)
    }

    @Test func unknownEnvironment() {
        let error = #expect(throws: SettingsError.self) {
            try Settings(inputs("[environments.staging]\ndeletion.grace = 1h", environment: "stagin"))
        }
        #expect(error?.description.contains("did you mean staging?") == true)
        let problems = Settings.check(
            inputs("[environments.staging]\nproduction = no", variables: ["ACCOUNTCTL_ENVIRONMENT": "stagin"])
        ).problems
        #expect(problems.map(\.source) == [.variable("ACCOUNTCTL_ENVIRONMENT")])
        // The names that choose the environment are not settings, but mistyped ones are found all the same.
        for (file, variables, meant) in [
            ("enviroment = staging", [:], "environment"),
            ("", ["ACCOUNTCTL_ENVIROMENT": "staging"], "ACCOUNTCTL_ENVIRONMENT"),
            ("", ["ACCOUNTCTL_CONFG": "a.conf"], "ACCOUNTCTL_CONFIG"),
        ] as [(String, [String: String], String)] {
            let messages = Settings.check(inputs(file, variables: variables)).problems.map(\.message)
            #expect(messages == ["there is no such setting; did you mean \(meant)?"])
        }
    }

    @Test(
        "Whether this is production stays in doubt while a wrong setting may have been meant to say so",
        arguments: [
            ("[environments.live]\nproduction = y", [:], true), ("[environments.live]\nprodution = yes", [:], true),
            ("[environments.live]\nproduction yes", [:], true), ("", ["ACCOUNTCTL_PRODUKTION": "yes"], true),
            ("", ["ACCOUNTCTL_ENVIROMENT": "production"], true), ("", ["ACCOUNTCTL_STORAGE_ULR": "x"], false),
            ("[environments.live.storage]\nulr = x", [:], false),
        ] as [(String, [String: String], Bool)]
    )
    func doubtfulEnvironment(_ file: String, _ variables: [String: String], _ inDoubt: Bool) {
        let problems = Settings.check(inputs(file, variables: variables, environment: "live")).problems
        #expect(!problems.isEmpty)
        #expect(problems.contains(where: \.leavesEnvironmentInDoubt) == inDoubt, "\(problems)")
    }

    @Test("Production is known by its name or by its setting")
    func production() throws {
        #expect(try !Settings(inputs()).environment.isProduction)
        #expect(try Settings(inputs(environment: "production")).environment.isProduction)
        #expect(try Settings(inputs("production = yes")).environment.isProduction)
        #expect(try !Settings(inputs("production = no", environment: "production")).environment.isProduction)
        #expect(try Settings(inputs(environment: "prodution")).environment.isProduction)
        #expect(try !Settings(inputs("environment = staging", environment: "staging")).environment.isProduction)
        #expect(
            try !Settings(inputs("[environments.staging]\nproduction = no", environment: "staging")).environment
                .isProduction
        )
        #expect(
            try !Settings(inputs("[environments.staging.log]\nlevel = info", environment: "staging")).environment
                .isProduction
        )
    }
}
