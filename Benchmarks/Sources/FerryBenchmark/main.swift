import Ferry
import FerryStore
import CSQLiteSession
print("x")
