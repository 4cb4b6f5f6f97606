// swift-tools-version: 6.2
import PackageDescription

/// Linker flags of release builds that together cut start-up by a fifth.
let fastStartFlags = [
    // Exports no symbols: nothing looks these 50,000 up, but the runtime scans them to find its own image.
    "-Xlinker", "--no-export-dynamic",
    // Links libstdc++ statically: with the shared one, 4,000 symbols would be resolved at start-up. The toolchain
    // requests the shared one before any flag of ours, so its name is remapped to an empty file.
    "-l:libstdc++.a", "-Xlinker", "--remap-inputs=*/libstdc++.so=/dev/null",
    // Links libgcc statically: the shared one queries the features of the processor, and in a virtual machine each
    // query is slow.
    "-Xclang-linker", "-static-libgcc",
    // Packs the 114,000 relocations processed at start-up from 2.7 MB into 23 KB; requires glibc 2.36 or later.
    "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
    // Omits libpq, which the toolchain requests as well: CLibpqLoader loads it on first use.
    "-Xlinker", "--remap-inputs=*/libpq.so=/dev/null",
]

/// Warnings fail the build, but neither those of a compiler that is newer than the one used here nor deprecations in a
/// newer version of a dependency: they must not keep anybody from building.
#if compiler(<6.4)
    let strictness: [SwiftSetting] = [
        .treatAllWarnings(as: .error),
        .treatWarning("DeprecatedDeclaration", as: .warning),
    ]
#else
    let strictness: [SwiftSetting] = []
#endif

// Only the executables are products: library products would put names like `Postgres` into other packages' graphs.
let package = Package(
    name: "accountctl",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "accountctl", targets: ["accountctl"]),
        .executable(name: "accountctl-sandbox", targets: ["accountctl-sandbox"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // No traits: the default ones pull in ICU and double the size of the binary.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // C libraries
        .systemLibrary(
            name: "CLibpq",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .systemLibrary(
            name: "CCares",
            pkgConfig: "libcares",
            providers: [.apt(["libc-ares-dev"]), .brew(["c-ares"])]
        ),

        // The database
        .target(name: "EventThread"),
        .target(name: "CLibpqLoader", dependencies: ["CLibpq"]),
        .target(name: "LibPQ", dependencies: ["CLibpq", "CLibpqLoader"], swiftSettings: [.strictMemorySafety()]),
        .target(
            name: "Postgres",
            dependencies: [
                "LibPQ", "EventThread", "CalendarDays",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .target(
            name: "SQLFiles",
            path: "sql",
            exclude: ["platform", "tests"],
            resources: [.embedInCode("migrations")]
        ),
        .target(
            name: "Migrations",
            dependencies: [
                "Postgres", "SQLFiles",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "JobQueue",
            dependencies: [
                "Postgres", "CalendarDays",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),

        // External services
        .target(
            name: "HTTPCalls",
            dependencies: [
                "Sealing", "Waiting", "CalendarDays",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ]
        ),
        .target(
            name: "SignInWithApple",
            dependencies: [
                "HTTPCalls", "Sealing", "Waiting",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ]
        ),
        .target(name: "ObjectStorage", dependencies: ["HTTPCalls", "Sealing", "Waiting"]),
        .target(name: "MailRelay", dependencies: ["CCares", "EventThread"]),
        .target(name: "Sealing", dependencies: [.product(name: "Crypto", package: "swift-crypto")]),
        .target(name: "Waiting", dependencies: [.product(name: "DequeModule", package: "swift-collections")]),

        // Shared by all of them
        .target(name: "CalendarDays"),

        // The domain
        .target(
            name: "AccountLifecycle",
            dependencies: [
                "Postgres", "JobQueue", "SignInWithApple", "ObjectStorage", "MailRelay", "Sealing", "Waiting",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ]
        ),

        // Settings, telemetry, HTTP listeners and the command line
        .target(
            name: "Settings",
            dependencies: [
                "Postgres", "HTTPCalls", "SignInWithApple", "ObjectStorage", "MailRelay", "Sealing", "Terminal",
            ]
        ),
        .target(
            name: "Telemetry",
            dependencies: [
                "Terminal",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(name: "Terminal", dependencies: ["CalendarDays"]),
        .target(
            name: "HTTPService",
            dependencies: [
                "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .executableTarget(
            name: "accountctl",
            dependencies: [
                "AccountLifecycle", "EventThread", "HTTPService", "Migrations", "JobQueue", "Postgres",
                "SignInWithApple", "ObjectStorage", "MailRelay", "Sealing", "Settings", "Telemetry", "Terminal",
                "HTTPCalls",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            // The toolchain's own lld: compared with gold, the program starts a tenth sooner and links twice as fast.
            linkerSettings: [
                .unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux])),
                .unsafeFlags(fastStartFlags, .when(platforms: [.linux], configuration: .release)),
            ]
        ),

        // Leaves: no production target imports them
        .target(
            name: "Sandbox",
            dependencies: [
                "Postgres", "Waiting",
                .product(name: "Hummingbird", package: "hummingbird"),
                // No JWT library: the clients under test use one, and a stand-in must not share its bugs.
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ]
        ),
        .executableTarget(
            name: "accountctl-sandbox",
            dependencies: [
                "Sandbox", "Postgres",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]
        ),
        // Benchmarks and tests use the same cases.
        .target(name: "SPFSuite", dependencies: ["MailRelay"]),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "Postgres", "JobQueue", "Migrations", "AccountLifecycle", "MailRelay", "Sandbox", "Sealing", "SPFSuite",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),

        // Tests. They start the executables that they depend on but do not import.
        .target(
            name: "TestSupport",
            dependencies: [
                "Postgres",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            path: "Tests/TestSupport"
        ),
        // The product's clients, configured for the stand-ins.
        .target(
            name: "SandboxClients",
            dependencies: [
                "HTTPCalls", "Sandbox", "Sealing", "SignInWithApple", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/SandboxClients"
        ),
        .testTarget(name: "EventThreadTests", dependencies: ["EventThread", "TestSupport"]),
        .testTarget(name: "LibPQTests", dependencies: ["LibPQ", "TestSupport"]),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", "EventThread", "LibPQ", "TestSupport"]),
        .testTarget(
            name: "MigrationsTests",
            dependencies: [
                "Migrations", "Postgres", "SQLFiles", "TestSupport", .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // A worker in a separate process, for tests that kill it.
        .executableTarget(
            name: "JobQueueTestWorker",
            dependencies: [
                "JobQueue", "Postgres",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Tests/JobQueueTestWorker"
        ),
        .testTarget(
            name: "JobQueueTests",
            dependencies: [
                "JobQueue", "JobQueueTestWorker", "Postgres", "Telemetry", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .testTarget(
            name: "HTTPCallsTests",
            dependencies: [
                "HTTPCalls", "Sealing", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        .testTarget(
            name: "SignInWithAppleTests",
            dependencies: [
                "SignInWithApple", "HTTPCalls", "Sealing", "Sandbox", "SandboxClients", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "ObjectStorageTests",
            dependencies: [
                "ObjectStorage", "HTTPCalls", "Sealing", "Sandbox", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(name: "MailRelayTests", dependencies: ["MailRelay", "SPFSuite", "TestSupport"]),
        .testTarget(name: "SealingTests", dependencies: ["Sealing"]),
        .testTarget(name: "CalendarDaysTests", dependencies: ["CalendarDays"]),
        .testTarget(name: "WaitingTests", dependencies: ["Waiting", "TestSupport"]),
        .testTarget(
            name: "AccountLifecycleTests",
            dependencies: [
                "AccountLifecycle", "HTTPCalls", "JobQueue", "MailRelay", "ObjectStorage", "Postgres", "Sandbox",
                "SandboxClients", "Sealing", "SignInWithApple", "Telemetry", "TestSupport", "Waiting",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "SettingsTests",
            dependencies: [
                "Settings", "AccountLifecycle", "Sealing", "SignInWithApple",
                .product(name: "Crypto", package: "swift-crypto"),
            ]
        ),
        .testTarget(
            name: "TelemetryTests",
            dependencies: [
                "Telemetry", "Terminal",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(name: "TerminalTests", dependencies: ["Terminal"]),
        .testTarget(name: "HTTPServiceTests", dependencies: ["HTTPService", "Telemetry", "TestSupport"]),
        .testTarget(
            name: "SandboxTests",
            dependencies: [
                "Sandbox", "accountctl-sandbox", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "accountctl", "accountctl-sandbox", "Benchmarks", "Sandbox", "AccountLifecycle", "JobQueue",
                "MailRelay", "Postgres", "Sealing", "Settings", "Telemetry", "Terminal", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// A loop, so that no target is forgotten.
for target in package.targets where target.type != .system {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            .enableUpcomingFeature("InferIsolatedConformances"),
            .enableUpcomingFeature("ImmutableWeakCaptures"),
        ] + strictness + [
            // Metadata of generic types through accessors. With mangled names, which are smaller, the runtime searches
            // all conformances of the program at the first use of each type: a twelfth of the time of `user find`.
            .unsafeFlags(
                ["-Xfrontend", "-disable-concrete-type-metadata-mangled-name-accessors"],
                .when(configuration: .release)
            )
        ]
}

// The driver is optimised in debug builds too, so that its tests run the code that users run. A bug that appeared only
// in optimised code has been found there.
for target in package.targets where ["EventThread", "LibPQ", "Postgres"].contains(target.name) {
    target.swiftSettings?.append(.unsafeFlags(["-O"], .when(configuration: .debug)))
}
