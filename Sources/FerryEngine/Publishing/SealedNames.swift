import FerryContainer
import FerryCore
import FerryStore

extension Container {
    /// What the store keeps of the name of a sealed segment's file; `nil` in an open container.
    func sealedName(_ name: SegmentName, under epoch: EpochID?) -> OwnSegment.SealedName? {
        epoch.map { OwnSegment.SealedName(hash: name.hash, epoch: $0, number: number(of: $0)) }
    }
}
