import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Ten years of a container's life: a laptop that writes all day, a phone, a tablet that is used on Sundays, a computer
/// that is away for a year, a copy of the phone's database that goes on beside it, and a laptop that is restored from a
/// backup. On one day the laptop flushes thousands of times, on all others as often as `FERRY_FLUSHES` says (once); that it may do
/// so every day is shown by `CompactionPlanTests`, which need no database for it.
final class TenYearsTests: XCTestCase {
    private static let busyDay = 2000

    func testTenYearsLeaveASmallContainerAndDevicesThatAgree() throws {
        let flushes = ProcessInfo.processInfo.environment["FERRY_FLUSHES"].flatMap { Int($0) } ?? 1
        let life = try SimulatedLife(seed: 1)
        defer { life.close() }
        let laptop = try life.begin("laptop")
        let phone = try life.join("phone")
        let tablet = try life.join("tablet")
        let desktop = try life.join("desktop")
        var (restored, copied): (SimulatedDevice, SimulatedDevice)
        (restored, copied) = (laptop, phone)
        var largest = SimulatedLife.Size()
        for day in 0..<3650 {
            let laptop = restored
            let count = day == Self.busyDay ? max(2500, flushes) : flushes
            for _ in 0..<count {
                try life.write(on: laptop)
                try laptop.sync()
                life.clock.advance(milliseconds: 86_400_000 / Int64(count + 1))
            }
            if day % 4 == 0 {
                try life.write(on: phone)
                try phone.sync()
            }
            if copied !== phone, day % 4 == 2 {
                try life.write(on: copied)
                try copied.sync()
            }
            if day % 7 == 6 {
                try life.write(on: tablet)
                try tablet.sync()
            }
            // The desktop is away in the fifth year, with something that it did not send.
            if day == 4 * 365 { try life.write(on: desktop, rows: 5) }
            if !(4 * 365..<5 * 365).contains(day), day % 6 == 0 {
                try life.write(on: desktop)
                try desktop.sync()
            }
            if day == 5 * 365 + 30 { copied = try life.copy(phone, to: "new phone", host: "another phone") }
            if day == 7 * 365 { try laptop.backUp() }
            if day == 7 * 365 + 20 { restored = try life.restore(laptop) }
            life.clock.advance(milliseconds: 86_400_000 / Int64(count + 1))
            if day % 30 == 29 || day == Self.busyDay { largest = largest.union(try life.size()) }
        }
        let devices =
            copied === phone ? [restored, phone, tablet, desktop] : [restored, phone, copied, tablet, desktop]
        try life.settle(devices)
        try life.assertAgreement(devices)
        let size = try life.size()
        let live = try life.liveBytes(restored)
        // A few dozen files a device, and no more than the least log beside which a snapshot is worth while.
        XCTAssertLessThan(largest.files, 60 * devices.count)
        XCTAssertLessThan(largest.bytes, devices.count * (RetentionSettings().snapshotMinimumBytes + 2 * live))
        print(
            "ten years, \(life.flushes) flushes: \(size.files) files and \(size.bytes / 1024) KiB at the end, at most "
                + "\(largest.files) files and \(largest.bytes / 1024) KiB, for \(live / 1024) KiB of live rows on "
                + "\(devices.count) devices")
    }
}
