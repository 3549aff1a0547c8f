using System.Linq;
using System.Reflection;
using System.Threading.Tasks;

/// <summary>Calls the `async Task Main()` of an example, which Mono's mcs takes for none.</summary>
internal static class Entry
{
    private static void Main()
    {
        var mains = typeof(Entry).Assembly.GetTypes().Select(t => t.GetMethod("Main", BindingFlags.Static | BindingFlags.NonPublic));
        ((Task)mains.Single(m => m?.ReturnType == typeof(Task)).Invoke(null, null)).GetAwaiter().GetResult();
    }
}
